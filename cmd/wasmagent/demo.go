package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) demoCommand() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Build the example plugins and see all of it at work",
		Long: `Build the example plugins of a clone of the repository with the local Go tool chain, list their
tools, call several, and show each kind of error once. The plugins are kept in the cache directory
and built again only when their sources change.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), source)
		},
	}
	cmd.Flags().StringVar(&source, "source", "",
		"the `directory` of the example plugins (else "+examplesDir+" here or above)")
	return cmd
}

func (a *app) demo(ctx context.Context, source string) error {
	return nil
}
