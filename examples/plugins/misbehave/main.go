// Plugin misbehave fails in every way there is, one tool for each: it shows what a host says of
// them, and what becomes of the host. Its well-behaved tools show what the failures are held
// against.
//
// Nothing here is an example to follow. See the other plugins for that.
package main

import (
	"strconv"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

func init() {
	pdk.Plugin("misbehave", "1.0.0")

	add("echo", "Give back the value as it came. The one tool that always works.", echo)
	add("keyed", "Give back what the plugin is told of the call: its idempotency key, its attempt "+
		"and the milliseconds it has left. Takes an order so that a key can be made of it.", keyed)
	add("slow", "Take some milliseconds, telling of the progress, and stop early when the call is "+
		"cancelled.", slow)
	add("log_lines", "Write lines to the operator's log, one level after the other.", logLines)
	add("progress", "Tell of so many steps of progress.", progress)
	add("remember", "Keep a secret in a variable of the plugin, and give back the one that was there "+
		"before: always nothing, since every call starts from the same state.", remember)
	add("recall", "Give back the secret that an earlier call of remember kept: always nothing.",
		recall)

	registerFailures()
	registerTraps()
	registerEaters()
	registerLies()
}

func main() {}

// add registers a tool without effects, which all tools here are.
func add[In, Out any](name, description string, fn func(*pdk.Call, In) (Out, error)) {
	pdk.Register(pdk.Tool{Name: name, Description: description, Effect: pdk.Read}, fn)
}

// none is the arguments of a tool that takes none.
type none struct{}

type echoInput struct {
	Value any `json:"value" doc:"Anything."`
}

func echo(_ *pdk.Call, in echoInput) (any, error) { return in.Value, nil }

type keyedInput struct {
	Order string `json:"order,omitempty" doc:"A name for what is to be done once."`
}

type keyedOutput struct {
	Key     string `json:"key"`
	Attempt int    `json:"attempt"`
	LeftMS  int64  `json:"left_ms,omitempty"`
}

func keyed(c *pdk.Call, _ keyedInput) (keyedOutput, error) {
	left, _ := c.Remaining()
	return keyedOutput{Key: c.Key, Attempt: c.Attempt, LeftMS: left}, nil
}

type slowInput struct {
	MS int `json:"ms" doc:"How long." min:"0" default:"1000"`
}

type slowOutput struct {
	MS        int  `json:"ms" doc:"How long it took."`
	Cancelled bool `json:"cancelled"`
}

const slowStep = 10 * time.Millisecond

func slow(c *pdk.Call, in slowInput) (slowOutput, error) {
	start, whole := time.Now(), time.Duration(in.MS)*time.Millisecond
	for {
		spent := time.Since(start)
		out := slowOutput{MS: int(spent.Milliseconds()), Cancelled: c.Cancelled()}
		if spent >= whole || out.Cancelled {
			return out, nil
		}
		c.Progress(float64(out.MS), float64(in.MS), "")
		time.Sleep(min(slowStep, whole-spent))
	}
}

type countInput struct {
	Count int `json:"count" doc:"How many." min:"0" default:"4"`
}

func logLines(c *pdk.Call, in countInput) (none, error) {
	levels := [...]func(string){c.Debug, c.Info, c.Warn, c.Error}
	for i := range in.Count {
		levels[i%len(levels)]("line " + strconv.Itoa(i+1) + " of " + strconv.Itoa(in.Count))
	}
	return none{}, nil
}

func progress(c *pdk.Call, in countInput) (none, error) {
	for i := range in.Count {
		c.Progress(float64(i+1), float64(in.Count), "step "+strconv.Itoa(i+1))
	}
	return none{}, nil
}

var secret string

type secretInput struct {
	Secret string `json:"secret"`
}

type secretOutput struct {
	Secret string `json:"secret" doc:"What an earlier call left behind."`
}

func remember(_ *pdk.Call, in secretInput) (secretOutput, error) {
	before := secret
	secret = in.Secret
	return secretOutput{before}, nil
}

func recall(*pdk.Call, none) (secretOutput, error) { return secretOutput{secret}, nil }
