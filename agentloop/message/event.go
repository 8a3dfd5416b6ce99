package message

// Event is something that happens while a loop runs. Which fields are set depends on its kind.
type Event struct {
	Kind    EventKind `json:"event"`
	Text    string    `json:"text,omitempty"`    // of deltas and warnings; why a run has ended
	Call    *Call     `json:"call,omitempty"`    // of tools
	Result  *Result   `json:"result,omitempty"`  // of a tool that has completed
	Message *Message  `json:"message,omitempty"` // of a turn that has completed; an answer; said
	Usage   *Usage    `json:"usage,omitempty"`   // so far, of all runs of the loop
	End     End       `json:"end,omitempty"`     // of a run that has ended
	Agent   string    `json:"agent,omitempty"`   // the ID of the subagent it happened to; "": none
	Job     *Job      `json:"job,omitempty"`     // that has begun or ended
}

// Job is a call of a tool in the background.
type Job struct {
	ID    string `json:"id"`
	Tool  string `json:"tool"`
	State string `json:"state"`          // running, exited or killed
	Code  *int   `json:"code,omitempty"` // that it has exited with, if with any
}

// EventKind names an event. There may be more kinds later: those that are not known must be
// ignored.
type EventKind string

const (
	TextDelta      EventKind = "text_delta"
	ReasoningDelta EventKind = "reasoning_delta"
	ToolStarted    EventKind = "tool_started"   // before the tool runs
	ToolCompleted  EventKind = "tool_completed" // or refused: then it was not started
	TurnCompleted  EventKind = "turn_completed" // the model has spoken; its calls have not been run
	UsageChanged   EventKind = "usage"
	Warning        EventKind = "warning"
	JobChanged     EventKind = "job"           // a job has begun or ended, since the last turn
	AgentStarted   EventKind = "agent_started" // a subagent begins, with its task in Text
	AgentEnded     EventKind = "agent_ended"   // how in End, "" after an error; why in Text
	Said           EventKind = "said"          // by the user, to a run that is at work
	Ended          EventKind = "ended"         // the last event of a run without an error
)

// End is how a run without an error ended.
type End string

const (
	EndAnswer   End = "answer"
	EndRepeated End = "repeated" // the same call failed in the same way again and again
	EndBudget   End = "budget"   // parked: raise the budget and go on
)
