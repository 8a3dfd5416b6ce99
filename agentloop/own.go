package agentloop

import (
	"context"
	"slices"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/excerpt"
)

// ownNames are the names of the tools that a loop itself may have. No tool of a caller's may have
// one of them, so that a model's call never means another tool once a part is switched on.
var ownNames = []string{excerpt.Name, expandName, searchName,
	BackgroundExec, BackgroundStatus, BackgroundList, BackgroundKill,
	SpawnSubagent, SubagentStatus}

// ownTool makes a tool of the loop's own.
func ownTool[In any](spec abi.ToolSpec,
	f func(context.Context, In) (plugins.Output, error)) plugins.Tool {
	t, err := plugins.Func(spec, f)
	if err != nil {
		panic(err) // it has its schema
	}
	return t
}

// object is the schema of arguments with these properties, of which some are required.
func object(properties, required string) string {
	return `{"type":"object","additionalProperties":false,"required":[` + required +
		`],"properties":{` + properties + `}}`
}

// ownTools are the tools of the loop's own that are of use now.
func (l *Loop) ownTools() (list []plugins.Tool) {
	if l.handles || !l.outputs.Empty() {
		list = append(list, l.outputs.Tool())
	}
	return slices.Concat(list, l.reductionTools(), l.jobTools(), l.subagentTools())
}

// ownRegistry has the tools of the loop's own. It is made anew when others have come to be of use.
func (l *Loop) ownRegistry() *plugins.Registry {
	tools := l.ownTools()
	if l.own != nil && slices.Equal(tools, l.ownList) {
		return l.own
	}
	l.own, l.ownList = plugins.NewRegistry(nil), tools
	for _, t := range tools {
		if err := l.own.Add(t); err != nil {
			panic(err) // its spec is a constant
		}
	}
	return l.own
}
