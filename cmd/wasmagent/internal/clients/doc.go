// Package clients knows the programs that start MCP servers: where each keeps which servers it
// starts, and how an entry of that file looks.
//
// [Client.Snippet] is a file with nothing but the entry. [Client.Install] adds the entry to the file
// that is there, byte for byte as it was for the rest, with comments, order and line ends, and a
// copy of what it was beside it. After an edit the file is read again: unless it means what it meant
// and the entry besides, it is not written, and a [RefusedError] tells what to do by hand.
//
// What an entry has besides is its owner's: it counts as no difference, and stays when an entry that
// starts the same program is replaced. An entry names the variables that its server needs of the
// client, and never has their values.
package clients
