package egress

import "slices"

// Allows reports whether some rule lets requests to all of host through, with a method: whether a
// plugin that asks for it has it. host is a name, an address, or *. and a name. Which paths, ports
// and addresses there are is not asked.
func (c *Client) Allows(host, method string) bool {
	want, err := parseHostPattern(host)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.rules, func(r *rule) bool {
		return r.host.covers(want) && slices.Contains(r.methods, method)
	})
}

// Secrets gives the names of the secrets that the client has.
func (c *Client) Secrets() []string {
	var names []string
	for _, s := range c.secrets {
		names = append(names, s.name)
	}
	return names
}
