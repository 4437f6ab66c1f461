package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// suggestionDistance is the largest edit distance at which a command's name is
// suggested.
const suggestionDistance = 2

// aCommand is the Args of a command that only has subcommands: it refuses any other
// argument and suggests the subcommands with a similar name.
func aCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if !cmd.HasParent() {
		hint = hintElsewhere(args[0], written(cmd))
	}
	cmd.SuggestionsMinimumDistance = suggestionDistance
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 && hint == "" {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(meant, " or "))
	}
	return fmt.Errorf("unknown command %q for %q%s\n%q lists the commands", args[0], cmd.CommandPath(), hint, cmd.CommandPath()+" --help")
}

// noArgs is the Args of a command that takes flags only.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q takes no arguments, but got %q\n%q lists the flags", cmd.CommandPath(), args[0], cmd.CommandPath()+" --help")
}

// someArgs is the Args of a command that needs at least one argument.
func someArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("%q needs %s, such as\n%s", cmd.CommandPath(), what, strings.TrimRight(cmd.Example, "\n"))
	}
}

// oneArg is the Args of a command that needs exactly one argument.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%q needs %s, but got %d arguments; an example is\n%s", cmd.CommandPath(), what, len(args), strings.TrimRight(cmd.Example, "\n"))
	}
}

// atMostOneArg is the Args of a command that needs no argument and takes one.
func atMostOneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return fmt.Errorf("%q takes %s, but got %q\n%q lists the flags", cmd.CommandPath(), what, args, cmd.CommandPath()+" --help")
	}
}
