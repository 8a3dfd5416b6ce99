package main

import (
	"context"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
)

// A panic of a run is the command's, with the stack of where it was.
func TestFollowPanics(t *testing.T) {
	g := &agent{Agent: sdk.New(func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
		return &sdk.Opened{Loop: &agentloop.Loop{Model: mistaken{}}}, nil
	}, nil)}
	defer g.Close()
	if _, err := g.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	defer func() {
		text, _ := recover().(string)
		if !strings.HasPrefix(text, "a mistake\n") || !strings.Contains(text, "mistaken.Turn") {
			t.Errorf("it panics with %q", text)
		}
	}()
	_, err := g.follow(t.Context(), []message.Message{{Role: message.User, Text: "go"}})
	t.Errorf("no panic, %v", err)
}

type mistaken struct{}

func (mistaken) Turn(context.Context, message.Request) (message.Message, error) {
	panic("a mistake")
}
