package egress

import (
	"fmt"
	"net/netip"
)

// special is every range that is not a public host's, and what reports call it. The first match
// counts. What lies in none of these and, for IPv6, in 2000::/3 is public.
var special = []struct {
	prefix netip.Prefix
	class  string
}{
	// Metadata services give credentials to whoever can reach them.
	{pre("169.254.169.254/32"), metadata},
	{pre("169.254.170.2/32"), metadata},   // tasks of AWS ECS
	{pre("169.254.170.23/32"), metadata},  // pods of AWS EKS
	{pre("100.100.100.200/32"), metadata}, // Alibaba
	{pre("168.63.129.16/32"), metadata},   // Azure
	{pre("192.0.0.192/32"), metadata},     // Oracle
	{pre("fd00:ec2::254/128"), metadata},  // AWS
	{pre("fd00:ec2::23/128"), metadata},   // pods of AWS EKS
	{pre("fd20:ce::254/128"), metadata},   // Google
	{pre("fd00:c1::a9fe:a9fe/128"), metadata},
	{pre("fe80::a9fe:a9fe/128"), metadata}, // OpenStack

	{pre("0.0.0.0/32"), unspecified},
	{pre("0.0.0.0/8"), "a \"this network\" address"},
	{pre("10.0.0.0/8"), private},
	{pre("100.64.0.0/10"), "a carrier-grade NAT address"},
	{pre("127.0.0.0/8"), loopback},
	{pre("169.254.0.0/16"), linkLocal},
	{pre("172.16.0.0/12"), private},
	{pre("192.0.0.0/24"), reserved},
	{pre("192.0.2.0/24"), documentation},
	{pre("192.88.99.0/24"), "a 6to4 relay's address"},
	{pre("192.168.0.0/16"), private},
	{pre("198.18.0.0/15"), benchmarking},
	{pre("198.51.100.0/24"), documentation},
	{pre("203.0.113.0/24"), documentation},
	{pre("224.0.0.0/4"), multicast},
	{pre("255.255.255.255/32"), broadcast},
	{pre("240.0.0.0/4"), reserved},

	{pre("::/128"), unspecified},
	{pre("::1/128"), loopback},
	{pre("::/96"), compatible},
	{pre("::ffff:0:0:0/96"), translated},
	{pre("64:ff9b::/96"), nat64},
	{pre("64:ff9b:1::/48"), localNAT64},
	{pre("100::/64"), "a discard address"},
	{pre("2001::/32"), teredo},
	{pre("2001:2::/48"), benchmarking},
	{pre("2001::/23"), reserved},
	{pre("2001:db8::/32"), documentation},
	{pre("2002::/16"), sixToFour},
	{pre("3fff::/20"), documentation},
	{pre("fc00::/7"), private},
	{pre("fe80::/10"), linkLocal},
	{pre("fec0::/10"), "a site-local address"},
	{pre("ff00::/8"), multicast},
}

// The classes that several ranges share, or that a rule is checked for.
const (
	metadata      = "a cloud metadata address"
	unspecified   = "the unspecified address"
	private       = "a private address"
	reserved      = "a reserved address"
	documentation = "a documentation address"
	benchmarking  = "a benchmarking address"
	multicast     = "a multicast address"
	broadcast     = "the broadcast address"
	loopback      = "a loopback address"
	linkLocal     = "a link-local address"
	compatible    = "an IPv4-compatible address"
	translated    = "an IPv4-translated address"
	nat64         = "a NAT64 address"
	localNAT64    = "a local NAT64 address"
	sixToFour     = "a 6to4 address"
	teredo        = "a Teredo address"
	isatap        = "an ISATAP address"
)

var globalUnicast = pre("2000::/3")

func pre(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// classOf names what keeps an address from being a public host's; "" when nothing does.
func classOf(a netip.Addr) string {
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.class
		}
	}
	if !a.Is6() {
		return ""
	}
	if !globalUnicast.Contains(a) {
		return reserved
	}
	if b := a.As16(); b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		return isatap
	}
	return ""
}

// never are the classes that no host has, so that no rule can name them.
func never(class string) bool {
	return class == unspecified || class == multicast || class == broadcast
}

// suggestible reports whether an error may say how to grant a class. An operator who means to give a
// plugin this machine's credentials does not need to be told by the plugin.
func suggestible(class string) bool { return !never(class) && class != metadata }

// embedded gives the IPv4 addresses that packets to an IPv6 address may end up at.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch classOf(a) {
	case compatible, translated, nat64, localNAT64, isatap:
		return []netip.Addr{last}
	case sixToFour:
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case teredo:
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), client}
	}
	return nil
}

// addressError is an address that a rule does not let its connections go to.
type addressError struct {
	addr  netip.Addr
	class string
}

func (e *addressError) Error() string { return fmt.Sprintf("%v, %s", e.addr, e.class) }

// permit checks an address that is about to be connected to. granted are the rule's; a metadata
// address must be among them by itself, since a range is rarely meant to have it in it. An IPv4
// address inside an IPv6 one must be permitted as well.
func permit(a netip.Addr, granted []netip.Prefix) error {
	a = a.Unmap()
	bare := a.WithZone("")
	class := classOf(bare)
	switch {
	case never(class), class != "" && !grants(granted, bare, class == metadata):
		return &addressError{a, class}
	}
	for _, inner := range embedded(bare) {
		if err := permit(inner, granted); err != nil {
			return err
		}
	}
	return nil
}

func grants(granted []netip.Prefix, a netip.Addr, single bool) bool {
	for _, p := range granted {
		if p.Contains(a) && (!single || p.IsSingleIP()) {
			return true
		}
	}
	return false
}

// parseAddresses reads a rule's grant: an address or a range.
func parseAddresses(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if addr, addrErr := netip.ParseAddr(text); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("is no address and no range such as 10.1.0.0/16")
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("is IPv4 in IPv6 form; write the IPv4 address")
	case prefix.Masked() != prefix:
		return netip.Prefix{}, fmt.Errorf("has bits beyond its range; write %v", prefix.Masked())
	case prefix.Bits() == 0:
		return netip.Prefix{}, fmt.Errorf("is every address")
	case never(classOf(prefix.Addr())) && prefix.IsSingleIP() || classOf(prefix.Addr()) == multicast:
		return netip.Prefix{}, fmt.Errorf("is %s, which no host has", classOf(prefix.Addr()))
	}
	return prefix, nil
}
