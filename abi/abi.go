package abi

// Version is the contract's version, carried by every manifest and request.
const Version = 1

// The names a host and a guest link by.
const (
	ImportModule    = "wasmagent_v1"       // the module of every host function
	ManifestSection = "wasmagent.manifest" // the custom section that may hold the manifest

	ExportMemory     = "memory"
	ExportInitialize = "_initialize"        // () → (), optional, once, before all else
	ExportDescribe   = "wasmagent_describe" // () → (), pushes the manifest, pure
	ExportWarmup     = "wasmagent_warmup"   // () → (), optional, touches what a first call would
	ExportCall       = "wasmagent_call"     // () → (), one call
)

// Limits of the contract, which no policy can raise.
const (
	MaxDepth          = 64        // arrays and maps of arguments or of a result inside one another
	MaxTools          = 256       // tools a plugin
	MaxSchemaBytes    = 64 << 10  // bytes of JSON Schema a plugin, all tools together
	MaxTextChars      = 1024      // characters of a name, title, description or reason, cut beyond
	MaxToolNameBytes  = 64        // bytes of a tool's name
	WarnToolNameBytes = 40        // longer names are cut by some clients: check warns
	MaxManifestBytes  = 256 << 10 // bytes of a coded manifest
)

// Raw is one complete msgpack value.
type Raw []byte

// Effect says what repeating a call may do to the world. Its zero value is the safest one.
type Effect uint8

const (
	EffectWrite      Effect = iota // changes the world: never repeated
	EffectRead                     // changes nothing: may be repeated
	EffectIdempotent               // safe to repeat under the same key
)

// ToolSpec is what a caller knows of a tool before calling it.
type ToolSpec struct {
	Name         string // ^[a-z][a-z0-9_]{0,63}$
	Description  string
	InputSchema  string // JSON Schema 2020-12 text; "" means an object of any shape
	OutputSchema string // JSON Schema text; "" when the result is not described
	Effect       Effect
}

// Manifest is how a plugin describes itself: its tools and what it asks to be granted.
type Manifest struct {
	Name, Version string
	ABI           int
	Tools         []ToolSpec
	Needs         Needs
}

// Needs is what a plugin asks for. It never grants anything.
type Needs struct {
	HTTP    []HTTPNeed
	KV      *KVNeed
	Files   []FileNeed
	Env     []ValueNeed
	Config  []ValueNeed
	Secrets []ValueNeed
}

// AnyHost is an HTTPNeed's host when it is the operator who chooses.
const AnyHost = "*"

// HTTPNeed asks to send requests to a host.
type HTTPNeed struct {
	Host     string   // a name, *. and a name for all below it, or AnyHost
	Methods  []string // empty means GET
	Reason   string
	Optional bool
}

// KVNeed asks for a key-value space of the plugin's own.
type KVNeed struct{ Optional bool }

// FileNeed asks for a directory at a guest path. Mode is "ro" or "rw".
type FileNeed struct {
	Guest, Mode string
	Optional    bool
}

// ValueNeed asks for an environment variable, a configuration value or a secret.
type ValueNeed struct{ Name, Default, Description string }

// Request is one call, as the guest sees it.
type Request struct {
	Tool           string
	CallID         string
	Attempt        int      // from 1
	IdempotencyKey string   // "" when the call is not keyed
	DeadlineMS     int64    // milliseconds left when the call began; 0 when there is no deadline
	Host           []string // features the host has beyond version 1
	Input          Raw      // the arguments
}

// Outcome is which one of a reply's keys was set.
type Outcome uint8

const (
	OutcomeOK             Outcome = iota + 1 // "ok": Value
	OutcomeContent                           // "content": Content
	OutcomeFailed                            // "failed": Failure
	OutcomeInvalidInput                      // "invalid_input": Failure (Message, Pointer)
	OutcomeUnserializable                    // "unserializable": Failure (Message)
)

// Reply is how a call ended, as the guest tells it. Exactly the field its Outcome names is set.
type Reply struct {
	Outcome Outcome
	Value   Raw
	Content []Block
	Failure *Failure
}

// Block is one piece of a content result.
type Block struct {
	Type string // "text", "image", "audio" or "file"
	Text string
	Data []byte
	MIME string
	Name string
}

// Failure is a guest's own report that its work failed. It is an error: the cause of a Handler.
type Failure struct {
	Code      string // the plugin's own word for it, may be empty
	Message   string
	Permanent bool   // trying again cannot help
	Pointer   string // the JSON pointer of the argument that was wrong, for invalid input
	Details   Raw    // any value, or nil
}

func (f *Failure) Error() string {
	if f.Code == "" {
		return f.Message
	}
	return f.Code + ": " + f.Message
}

// Progress is what a guest says of a running call.
type Progress struct {
	Done    float64
	Total   float64 // 0 when unknown
	Message string
}

// Level is the level of a guest's log line.
type Level uint8

const (
	LevelDebug Level = iota
	LevelInfo
	LevelWarn
	LevelError
)
