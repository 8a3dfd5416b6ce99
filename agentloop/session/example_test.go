package session_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// A turn is stored as it happens, and the conversation goes on in another process.
func Example() {
	folder, err := os.MkdirTemp("", "sessions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	dir, err := session.OpenDir(folder, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer dir.Close()

	s, err := dir.Create("trip", "", session.Meta{Title: "A trip"})
	if err != nil {
		log.Fatal(err)
	}
	err = s.Append(context.Background(),
		message.Message{Role: message.User, Text: "Is it raining in Oslo?"},
		message.Message{Role: message.Assistant, Calls: []message.Call{{ID: "1", Name: "weather"}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil { // before the tool had an answer
		log.Fatal(err)
	}

	s, err = dir.Resume("trip")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, m := range s.Messages() {
		switch {
		case m.Result != nil:
			fmt.Println("result:", m.Result.Outcome)
		case m.Calls != nil:
			fmt.Println("call:", m.Calls[0].Name)
		default:
			fmt.Println("said:", m.Text)
		}
	}
	// Output:
	// said: Is it raining in Oslo?
	// call: weather
	// result: unknown
}
