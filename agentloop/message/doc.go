// Package message has the words in which a model, the loop around it and whoever watches speak:
// messages, calls and their results, the request to a model, and events. It is a leaf with shapes
// and hardly any behaviour, so that providers, sessions and the loop can share it.
//
// A conversation is a list of messages. The assistant's messages may hold calls; each call is
// answered by exactly one message of the role tool, in the order of the calls and before the next
// message of any other role. [Check] tells whether that holds, and so whether a provider can be
// sent the list.
//
// Everything here has a stable JSON form: sessions store it and programs read it. Fields that a
// reader does not know must be ignored, and so must kinds of events.
package message
