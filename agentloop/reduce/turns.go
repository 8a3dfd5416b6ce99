package reduce

import "github.com/wasmagent/wasmagent/agentloop/message"

// mayGo tells which messages may be cleared: those from first on, but for what the user said last.
func mayGo(list []message.Message) (first int, last Span) {
	if len(list) > 0 && list[0].Role == message.System {
		first = 1
	}
	for i := len(list); i > 0; i-- {
		if list[i-1].Role != message.User {
			if last.To > 0 {
				break
			}
			continue
		}
		if last.To == 0 {
			last.To = i
		}
		last.From = i - 1
	}
	return first, last
}

// starts lists where the turns begin that may be cleared.
func starts(list []message.Message) (all []int) {
	first, last := mayGo(list)
	for i := first; i < len(list); i++ {
		if (i < last.From || i >= last.To) && (i == first || i == last.To ||
			list[i].Role != message.Tool) {
			all = append(all, i)
		}
	}
	return all
}

// cutAt is the index of the first message that stays when so many turns at the end do: of all that
// may be cleared when turns is positive, none when it is negative.
func cutAt(list []message.Message, turns int) int {
	all := starts(list)
	switch {
	case turns < 0:
		return len(list)
	case turns >= len(all):
		return 0
	}
	return all[len(all)-turns]
}

// wholeTurns tells whether messages may be cleared together: calls and their results, and neither
// the system prompt nor what the user said last.
func wholeTurns(list []message.Message, from, to int) bool {
	first, last := mayGo(list)
	return from >= first && (to <= last.From || from >= last.To) &&
		list[from].Role != message.Tool && (to == len(list) || list[to].Role != message.Tool)
}
