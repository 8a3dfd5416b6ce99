//go:build !linux

package mcp

// reap waits for the command's end and ends what it has started, as far as that can be told from
// what others have. No end can be waited for here without giving the command's number back.
func (p *process) reap() error {
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	killRest(p.cmd.Process)
	return err
}
