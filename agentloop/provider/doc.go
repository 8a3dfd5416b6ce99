// Package provider has what all model APIs share: the errors they end with, their options and the
// way in which requests are sent. The packages below it are one provider each: openai speaks Chat
// Completions, which also reaches the many servers that are compatible with it, anthropic speaks
// Messages, and script plays a file and asks no model at all.
//
// # Requests
//
// An answer is streamed unless that is switched off. What fails for a reason that may pass (no
// connection, one that broke, the statuses 408, 409, 425, 429 and all from 500) is tried again up
// to [Retries] times, after 2 s, 4 s, 8 s or what the provider asks for, but at most [MaxWait].
// Nothing is tried again once a piece of a streamed answer has been read: it may have been shown
// already, and so nothing that could have started a tool call is ever asked for twice.
// An answer that cannot be read is not tried again either.
//
// There is no limit on how long an answer takes, only on how long nothing of it comes.
//
// # Keys
//
// A key goes into the header of a request and nowhere else: not to another server by a redirect,
// not over plain HTTP to another machine, not into an error or a log, even if the provider
// repeats it. The last two hold as well for Options.Headers and parameters of the base URL with a
// name that tells of a key, such as Authorization or api_key.
package provider
