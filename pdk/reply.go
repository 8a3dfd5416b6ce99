package pdk

import (
	"errors"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/codec"
)

// Content is a result made of blocks: text, images, sound, files. There must be at least one.
type Content []Block

// Block is one piece of a Content. A block of type "text" has Text, one of type "image" or "audio"
// has Data and its MIME type, one of type "file" has either.
type Block = abi.Block

// Text makes a text block.
func Text(s string) Block { return Block{Type: abi.BlockText, Text: s} }

// Failure is an error that tells the caller more than its text: a Code of the plugin's own, whether
// the failure is Permanent, and Details, which Encode makes. Any other error that a handler returns
// is a failure with that text.
type Failure = abi.Failure

// InvalidInput is an error that says that the arguments are wrong, which the caller can mend: use
// it for what no schema can say, and before the handler has done anything to the world. pointer is
// the JSON pointer of the argument, such as "/filter"; "" is all of them.
func InvalidInput(pointer, message string) error {
	return &inputError{pointer, message}
}

type inputError struct{ pointer, message string }

func (e *inputError) Error() string {
	if e.pointer == "" {
		return e.message
	}
	return e.pointer + ": " + e.message
}

func invalid(pointer, message string) abi.Reply {
	return abi.Reply{Outcome: abi.OutcomeInvalidInput,
		Failure: &abi.Failure{Pointer: pointer, Message: message}}
}

func failure(err error) abi.Reply {
	var f *Failure
	if errors.As(err, &f) {
		return abi.Reply{Outcome: abi.OutcomeFailed, Failure: f}
	}
	var in *inputError
	if errors.As(err, &in) {
		return invalid(in.pointer, in.message)
	}
	var host *HostError
	if errors.As(err, &host) {
		message := err.Error()
		if err == error(host) {
			message = host.Message // the code says the kind
		}
		return abi.Reply{Outcome: abi.OutcomeFailed, Failure: &abi.Failure{Code: string(host.Kind),
			Message: message, Permanent: host.Kind == Denied || host.Kind == TooLarge}}
	}
	return abi.Reply{Outcome: abi.OutcomeFailed, Failure: &abi.Failure{Message: err.Error()}}
}

func unserializable(detail string) abi.Reply {
	return abi.Reply{Outcome: abi.OutcomeUnserializable, Failure: &abi.Failure{Message: detail}}
}

func success(out any) abi.Reply {
	if c, ok := out.(Content); ok {
		if len(c) == 0 {
			return unserializable("the content has no blocks")
		}
		return abi.Reply{Outcome: abi.OutcomeContent, Content: c}
	}
	raw, err := codec.Append(nil, out)
	if err != nil {
		return unserializable(err.Error())
	}
	return abi.Reply{Outcome: abi.OutcomeOK, Value: raw}
}
