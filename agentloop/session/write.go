package session

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Write writes a conversation as a session's file, which Read reads: for whoever wants to have it
// without a Dir. Calls of the last turn may be without results.
func Write(w io.Writer, id string, created time.Time, messages []message.Message) error {
	var text bytes.Buffer
	head := Header{Format: formatName, Version: formatVersion, Source: sourceOwn, ID: id,
		Created: created.UTC().Truncate(time.Millisecond)}
	if err := appendLine(&text, head); err != nil {
		return err
	}
	if text.Len() > MaxHeader {
		return fmt.Errorf("the header would have more than %d bytes: is its ID as long?", MaxHeader)
	}
	var view history
	for i, m := range messages {
		start := text.Len()
		if err := appendLine(&text, m); err != nil {
			return err
		}
		size := text.Len() - start
		if size > MaxLine || text.Len() > MaxFile {
			return fmt.Errorf("message %d: the file or its line would have too many bytes", i+1)
		}
		if err := view.add(entry{m, int64(start), int64(size)}); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}
