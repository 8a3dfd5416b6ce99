package snapshot

const (
	tideFloor = SmallImage // resident bytes that are never worth a drop
	tideFirst = 16         // restores until a drop is tried again: about what one costs in copying
	tideLast  = 4096       // and once drops turned out to be useless
)

// tide decides when a restore drops the resident pages of earlier calls instead of writing them all
// again. The system does not tell which of them the last call wrote; what comes back after a drop
// does.
type tide struct {
	before   int64 // resident bytes when last dropped
	restores int   // since then
	interval int   // restores until the next drop
}

// turns is asked before every restore, with what the last one left resident.
func (t *tide) turns(resident int64) bool {
	t.restores++
	switch {
	case resident <= tideFloor:
		return false
	case resident > 2*t.before: // a larger call than those before it
		t.interval = tideFirst
	case t.restores < t.interval:
		return false
	case resident >= t.before/2: // dropped for nothing last time
		t.interval = min(2*t.interval, tideLast)
	default:
		t.interval = tideFirst
	}
	t.before, t.restores = resident, 0
	return true
}
