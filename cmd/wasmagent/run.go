package main

import (
	"context"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

func (a *app) runCommand() *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "run PROMPT | @FILE | -",
		Short: "Have a model answer with the help of the tools",
		Long: `Say something to a model, and let it call the tools of the plugin directories until it has
an answer. The answer goes to stdout, what happens on the way to stderr; with -o jsonl each
event is a line on stdout, the last one says how the run ended.

Tools that can change nothing run without being asked for. For others a person at the terminal
is asked; without a terminal they are denied, unless --approval never says otherwise.

With --session the conversation is recorded, and --resume goes on with it, also after a crash:
calls that had begun are not made twice. Without a prompt, --resume goes on where it stopped.

--provider script:FILE plays a file and asks no model. docs/agent.md is the guide.`,
		Example: `  wasmagent run "Which of these is the largest?" --provider openai --model gpt-5-mini
  wasmagent run @task.md --provider openai --base-url http://localhost:11434/v1 --model qwen3
  wasmagent run "Pay order 7" --effect pay=write --key pay=order --session orders
  wasmagent run --resume orders --budget-steps 20
  wasmagent run "Go" --provider script:steps.toml -o jsonl`,
		Args:              takes(0, 1, "at most one prompt"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPrompt(cmd.Context(), args, &flags)
		},
	}
	a.runFlags(cmd, &flags)
	return cmd
}

func (a *app) runPrompt(ctx context.Context, args []string, flags *agentFlags) error {
	var input []message.Message
	if len(args) > 0 {
		prompt, err := a.prompt(args[0])
		if err != nil {
			return err
		}
		input = append(input, prompt)
	} else if !flags.set.Changed("resume") {
		return &usageError{text: "there is nothing to say to the model",
			hint: `a prompt is an argument, @FILE or - for stdin; only --resume goes on without one`}
	}
	g, err := a.openAgent(ctx, flags, false)
	if err != nil {
		return err
	}
	o, err := g.converse(ctx, input...)
	return g.printOutcome(o, g.explain(g.finish(err)))
}

// prompt reads what the user says.
func (a *app) prompt(arg string) (message.Message, error) {
	text, err := a.readArg(arg)
	switch {
	case err != nil:
		return message.Message{}, err
	case !utf8.Valid(text):
		return message.Message{}, &usageError{text: "the prompt is not UTF-8"}
	case len(text) == 0:
		return message.Message{}, &usageError{text: "the prompt is empty"}
	}
	return message.Message{Role: message.User, Text: string(text)}, nil
}
