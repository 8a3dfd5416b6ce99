package egress

import (
	"net/netip"
	"slices"
	"testing"
)

// TestSpecialRanges looks at both ends of every range, and at the addresses beyond them.
func TestSpecialRanges(t *testing.T) {
	for _, s := range special {
		first, last := s.prefix.Masked().Addr(), lastOf(s.prefix)
		for _, a := range []netip.Addr{first, last} {
			if permit(a, nil) == nil {
				t.Errorf("%v of %v is permitted", a, s.prefix)
			}
		}
		for _, a := range []netip.Addr{first.Prev(), last.Next()} {
			if a.IsValid() && classOf(a) == s.class && !slices.ContainsFunc(special, inOther(a, s.prefix)) {
				t.Errorf("%v is beyond %v and %s", a, s.prefix, s.class)
			}
		}
	}
}

func inOther(a netip.Addr, not netip.Prefix) func(struct {
	prefix netip.Prefix
	class  string
}) bool {
	return func(s struct {
		prefix netip.Prefix
		class  string
	}) bool {
		return s.prefix != not && s.prefix.Contains(a)
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestPermit(t *testing.T) {
	for _, c := range []struct {
		addr    string
		granted []string
		class   string // "" is permitted
	}{
		{"1.1.1.1", nil, ""},
		{"172.15.255.255", nil, ""}, {"172.32.0.0", nil, ""}, {"100.63.255.255", nil, ""},
		{"100.128.0.0", nil, ""}, {"223.255.255.255", nil, ""}, {"11.0.0.0", nil, ""},
		{"2606:4700::1111", nil, ""}, {"2001:200::1", nil, ""}, {"3ffe::1", nil, ""},

		{"127.0.0.1", nil, loopback}, {"127.255.255.254", nil, loopback}, {"::1", nil, loopback},
		{"10.0.0.1", nil, private}, {"172.16.0.1", nil, private}, {"192.168.1.1", nil, private},
		{"fd12::1", nil, private}, {"fc00::1", nil, private},
		{"169.254.1.1", nil, linkLocal}, {"fe80::1", nil, linkLocal}, {"fe80::1%lo", nil, linkLocal},
		{"100.64.0.1", nil, "a carrier-grade NAT address"},
		{"0.0.0.0", nil, unspecified}, {"::", nil, unspecified}, {"0.1.2.3", nil,
			"a \"this network\" address"},
		{"224.0.0.251", nil, multicast}, {"ff02::fb", nil, multicast},
		{"255.255.255.255", nil, broadcast}, {"240.0.0.1", nil, reserved},
		{"192.0.2.1", nil, documentation}, {"198.51.100.1", nil, documentation},
		{"203.0.113.1", nil, documentation}, {"2001:db8::1", nil, documentation},
		{"198.18.0.1", nil, benchmarking}, {"198.19.255.255", nil, benchmarking},
		{"192.0.0.1", nil, reserved}, {"192.88.99.1", nil, "a 6to4 relay's address"},
		{"4000::1", nil, reserved}, {"1::1", nil, reserved}, {"fec0::1", nil, "a site-local address"},
		{"100::1", nil, "a discard address"}, {"5f00::1", nil, reserved},
		{"169.254.169.254", nil, metadata}, {"169.254.170.2", nil, metadata},
		{"100.100.100.200", nil, metadata}, {"168.63.129.16", nil, metadata},
		{"fd00:ec2::254", nil, metadata}, {"fd20:ce::254", nil, metadata},

		// IPv4 in IPv6.
		{"::ffff:127.0.0.1", nil, loopback}, {"::ffff:169.254.169.254", nil, metadata},
		{"::ffff:1.1.1.1", nil, ""},
		{"::127.0.0.1", nil, compatible}, {"::1.1.1.1", nil, compatible},
		{"::ffff:0:127.0.0.1", nil, translated},
		{"2002:7f00:1::", nil, sixToFour}, {"2002:101:101::", nil, sixToFour},
		{"2001:0:101:101::fefe:fefe", nil, teredo},
		{"64:ff9b::127.0.0.1", nil, nat64}, {"64:ff9b::1.1.1.1", nil, nat64},
		{"64:ff9b:1::a00:1", nil, localNAT64},
		{"2606:4700::5efe:7f00:1", nil, isatap}, {"2606:4700::200:5efe:7f00:1", nil, isatap},

		// By name.
		{"127.0.0.1", []string{"127.0.0.1"}, ""}, {"127.0.0.2", []string{"127.0.0.1"}, loopback},
		{"::ffff:127.0.0.1", []string{"127.0.0.1"}, ""},
		{"10.1.2.3", []string{"10.1.0.0/16"}, ""}, {"10.2.0.0", []string{"10.1.0.0/16"}, private},
		{"fe80::1%lo", []string{"fe80::1"}, ""}, {"fd12::1", []string{"fd00::/8"}, ""},
		{"169.254.169.254", []string{"169.254.0.0/16"}, metadata},
		{"169.254.169.254", []string{"169.254.169.254"}, ""}, {"169.254.1.1",
			[]string{"169.254.0.0/16"}, ""},
		{"fd00:ec2::254", []string{"fd00::/8"}, metadata},
		{"64:ff9b::1.1.1.1", []string{"64:ff9b::/96"}, ""},
		{"64:ff9b::127.0.0.1", []string{"64:ff9b::/96"}, loopback},
		{"64:ff9b::127.0.0.1", []string{"64:ff9b::/96", "127.0.0.1"}, ""},
		{"64:ff9b::169.254.169.254", []string{"64:ff9b::/96"}, metadata},
		{"2002:7f00:1::", []string{"2002::/16"}, loopback}, {"2002:101:101::", []string{"2002::/16"}, ""},
		{"2001:0:7f00:1::fefe:fefe", []string{"2001::/32"}, loopback},  // the server
		{"2001:0:101:101::80ff:fffe", []string{"2001::/32"}, loopback}, // the client
		{"2001:0:101:101::fefe:fefe", []string{"2001::/32"}, ""},
		{"::127.0.0.1", []string{"::/96"}, loopback},
		{"0.0.0.0", []string{"0.0.0.0/8"}, unspecified}, {"255.255.255.255", []string{"240.0.0.0/4"},
			broadcast},
		{"64:ff9b::", []string{"64:ff9b::/96"}, unspecified},
	} {
		var granted []netip.Prefix
		for _, text := range c.granted {
			p, err := parseAddresses(text)
			if err != nil {
				t.Fatal(err)
			}
			granted = append(granted, p)
		}
		err := permit(netip.MustParseAddr(c.addr), granted)
		refused, _ := err.(*addressError)
		if c.class == "" && err != nil || c.class != "" && (refused == nil || refused.class != c.class) {
			t.Errorf("%s with %v: %v, not %q", c.addr, c.granted, err, c.class)
		}
	}
}
