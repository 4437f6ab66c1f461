package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/internal/spell"
)

// badInput is an error in what the user has written: a command, a flag, an argument, or a file that one of
// them names. The exit code is 2, and nothing has been done.
type badInput struct{ error }

func (e badInput) Unwrap() error { return e.error }

// asBadInput wraps an error as badInput, and returns nil for nil.
func asBadInput(err error) error {
	if err == nil {
		return nil
	}
	return badInput{err}
}

// checkFile returns badInput if there is no such file or folder.
func checkFile(path string) error {
	_, err := os.Stat(path)
	return asBadInput(err)
}

// beStrict makes the errors about flags and arguments of a command and of those beneath it badInput.
func beStrict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(badFlag)
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil && !cmd.DisableFlagParsing {
				err = cmd.ValidateFlagGroups() // cobra checks them later
			}
			return asBadInput(err)
		}
	}
	for _, sub := range cmd.Commands() {
		beStrict(sub)
	}
}

// badFlag returns the error for a flag that cannot be parsed. It suggests a flag for an unknown one.
func badFlag(cmd *cobra.Command, err error) error {
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		hint = hintFlag(cmd, unknown.GetSpecifiedName())
	}
	return badInput{fmt.Errorf("%w%s\n%q lists the flags", err, hint, cmd.CommandPath()+" --help")}
}

// hintFlag returns a sentence about an unknown flag, or "".
func hintFlag(cmd *cobra.Command, written string) string {
	if meant := nearestFlag(cmd, written); meant != "" {
		return fmt.Sprintf("; did you mean --%s?", meant)
	}
	if len(written) == 1 && written[0] >= '0' && written[0] <= '9' {
		return "; an argument that begins with - comes after --"
	}
	if up, _, err := cmd.Find([]string{"up"}); err == nil && !cmd.HasParent() {
		if meant := nearestFlag(up, written); meant != "" {
			return fmt.Sprintf("; did you mean \"%s --%s\"?", up.CommandPath(), meant)
		}
	}
	return ""
}

// nearestFlag returns the flag of a command with a similar name, or "".
func nearestFlag(cmd *cobra.Command, written string) string {
	var known []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
	return spell.Nearest(written, known)
}
