package main

import (
	"strconv"

	"github.com/wasmagent/wasmagent/pdk"
)

// registerFailures adds the tools that say themselves that something went wrong.
func registerFailures() {
	add("fail", "Report a failure that may be gone the next time.", fail)
	add("fail_permanently", "Report a failure that trying again cannot mend, with a code and details.",
		failPermanently)
	add("flaky", "Report a failure until the attempt that is to succeed.", flaky)
	add("bad_input", "Say that the argument is wrong, whatever it is.", badInput)
	add("cannot_encode", "Give back a value that has no JSON form in Go: a channel.", cannotEncode)
}

type failInput struct {
	Message string `json:"message" doc:"What to say." default:"the teapot is empty"`
}

func fail(_ *pdk.Call, in failInput) (none, error) {
	return none{}, &pdk.Failure{Code: "unavailable", Message: in.Message}
}

func failPermanently(_ *pdk.Call, in failInput) (none, error) {
	details, err := pdk.Encode(map[string]any{"capacity_ml": 0, "short_and_stout": true})
	if err != nil {
		return none{}, err
	}
	return none{}, &pdk.Failure{Code: "teapot", Message: in.Message, Permanent: true, Details: details}
}

type flakyInput struct {
	SucceedAt int `json:"succeed_at" doc:"The attempt that succeeds." min:"1" default:"3"`
}

type flakyOutput struct {
	Attempt int `json:"attempt"`
}

func flaky(c *pdk.Call, in flakyInput) (flakyOutput, error) {
	if c.Attempt < in.SucceedAt {
		return flakyOutput{}, &pdk.Failure{Code: "unavailable",
			Message: "attempt " + strconv.Itoa(c.Attempt) + " does not work"}
	}
	return flakyOutput{c.Attempt}, nil
}

func badInput(_ *pdk.Call, in echoInput) (none, error) {
	return none{}, pdk.InvalidInput("/value", "no value is good enough")
}

func cannotEncode(*pdk.Call, none) (any, error) {
	return map[string]any{"pipe": make(chan int)}, nil
}
