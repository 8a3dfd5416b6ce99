// Package excerpt shows a model the head and the tail of an output that is too long for it, and
// lets it read the rest.
//
// A [Store] belongs to one conversation. Its Cut leaves a text that is short enough as it is; of
// any other it makes an excerpt of at most Store.Max bytes, cut between characters, with a line in
// the middle that tells how much is left out and how to get it: by a call of read_more with the
// excerpt's handle. That is the tool Store.Tool gives, to be offered once something has been cut.
//
// The whole texts stay in memory, up to Store.Keep bytes together, and the oldest go first. A
// handle is made of the text's digest: it never means another text, also not in a conversation that
// goes on in another process, where it is just no longer there. A store that strangers share has
// Secret handles, and an Age.
package excerpt
