// Package policy is the operator's word about plugins: what each may reach, within which limits,
// and which of its tools are offered under which rules.
//
//	p, err := policy.Open(policy.File(), &policy.Options{Optional: true})
//	dir, err := loader.OpenDir(ctx, "plugins", &loader.Options{Policies: p})
//
// # The file
//
// The sections defaults, ceiling, plugins.NAME and servers.NAME of the user's wasmagent.toml; the
// package config reads the rest. A plugin only asks; what it gets stands in its section, and nowhere else. A key
// that nothing obeys is an error with its line, and so is every value that could not be enforced.
// Nothing is expanded.
//
// # Servers
//
// The sections servers.NAME are MCP servers whose tools are offered beside those of plugins. They are
// not sandboxed, and need no approval: nobody but the operator can name one. [Policy.Servers] lists
// them.
//
// # Approvals
//
// A section names a plugin, and whoever fills a directory chooses the names. So a plugin that is
// granted anything must be allowed as the file that it is: [Policy.Review] shows what it is, asks
// for and would get, and [Policy.Allow] records the word of an operator who has seen that, by the
// directory's real path, the plugin's name, the digest of its file, the kind of plugin it was taken
// for, what it asks for, and its section. When one of these changed the plugin is refused until it is allowed again: it is never
// run with fewer grants, nor with those of another. A plugin that is granted nothing needs no
// approval.
//
// What a plugin may write to never holds, or lies in, a directory of plugins, the policy, the
// state, the cache, the sessions or what a secret comes from: a plugin cannot give itself anything.
package policy
