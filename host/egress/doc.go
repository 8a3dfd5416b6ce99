// Package egress is the HTTP client that a guest's requests go through. It knows nothing of guests:
// it gets a [Request] that somebody untrusted wrote, and gives a [Response] that is safe to hand
// back, or an [*Error] that says what an operator would have to type.
//
// A [Client] belongs to one plugin under one policy. It shares nothing with any other: no
// connection, no cookie, no cached name. Without rules it reaches nothing.
//
// # What leaves
//
// A request is let through when one [Rule] allows all of it: host, scheme, port, path and method.
// The URL is brought into one canonical form first (case, IDNA, default port, percent-encoding, dot
// segments), and what could mean two things to two readers is refused: user info, backslashes,
// encoded dot segments, IPv4 addresses in any spelling but the usual one. What was checked is what
// is sent.
//
// Redirects are followed here, and every hop is checked like the first. Then, when a connection is
// made, the address that the name resolved to is checked in the moment it is used: loopback,
// private, link-local, metadata and other special addresses are refused unless the rule names them,
// also when they hide in an IPv6 address. Connections of one rule are never used for another.
//
// The headers that frame a message belong to the client, and a guest that sets one is told. Proxies
// of the environment are not used, HTTP/2 is not spoken, a referer is not sent. At another origin
// than the first a guest's headers are dropped but for the few that describe content.
//
// # What comes back
//
// Every answer, whatever its status. A body over the limit is cut and marked as Truncated; one that
// broke off is an error, never a short body. The limit counts decoded bytes.
//
// # Secrets
//
// A [Secret] is put into requests to the hosts it is for, after the rules have passed, on each hop
// anew. The guest cannot see it, set it, or name where it goes. Answers, errors and URLs are
// searched for the secrets that the client has used, in the forms that servers commonly echo, and
// [Client.Scrub] does the same for other texts, as a [Scrubber] does for secrets of others. That is a
// net and not a wall: a server that answers with a secret in pieces or in a coding of its own gets
// through it. Only hosts that may know a secret should be among its hosts.
package egress
