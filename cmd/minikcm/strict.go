package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/spell"
	"minikcm.dev/minikcm/store"
)

// badInput is an error in the user's input: a command, a flag, an argument, or a file that one of
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

// isMissing reports whether an error is the API server's about an object of a resource that does not exist.
func isMissing(err error, resource string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == resource
}

// asBadSnapshot makes the error of a command that reads a snapshot badInput if the snapshot is damaged, or
// none.
func asBadSnapshot(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	if _, damaged := store.ReadSnapshotStatus(path); damaged != nil {
		return badInput{err}
	}
	return err
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
		if words := unknownCommand(cmd); !cmd.HasParent() && len(words) > 0 {
			return badInput{aCommand(cmd, words)}
		}
		hint = hintFlag(cmd, unknown.GetSpecifiedName())
	}
	return badInput{fmt.Errorf("%w%s\n%q lists the flags", badValue(err), hint, cmd.CommandPath()+" --help")}
}

// badValue says which values a flag takes, in place of the error of the function that parses them. It returns other errors as they are.
func badValue(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	takes, ok := map[string]string{
		"bool": "true or false", "duration": "a duration such as 90s or 1h30m", "int": "a whole number", "int32": "a whole number", "int64": "a whole number",
		"uint16": "a whole number from 0 to 65535", "uint": "a whole number that is not negative", "uint64": "a whole number that is not negative", "float64": "a number", "float32": "a number",
	}[flag.Value.Type()]
	var number *strconv.NumError
	if !ok || !errors.As(err, &number) && !strings.HasPrefix(invalid.Unwrap().Error(), "time: ") { // the flag has words of its own
		return err
	}
	if number != nil && errors.Is(number, strconv.ErrRange) {
		takes += " with fewer digits"
	}
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: it takes %s", invalid.GetValue(), flag.Name, takes)
}

// hintFlag returns a sentence about an unknown flag, or "".
func hintFlag(cmd *cobra.Command, flag string) string {
	switch name := nameIn(written(cmd)); {
	case flag != "name" || name == "":
	case cmd.Name() == "down":
		return fmt.Sprintf("; did you mean \"%s %s\"?", cmd.CommandPath(), name)
	case cmd.Flags().Lookup("kubeconfig") != nil:
		return fmt.Sprintf("; did you mean --kubeconfig %s?", name)
	}
	kubectls := ""
	if slices.Contains(kubectlNamesakes, cmd.Name()) {
		kubectls = fmt.Sprintf("; for kubectl's command, use \"%s kubectl %s\"", cmd.Root().Name(), cmd.Name())
	}
	if kubectls != "" && len(flag) == 1 {
		return kubectls
	}
	if meant := nearestFlag(cmd, flag); meant != "" {
		return fmt.Sprintf("; did you mean --%s?", meant)
	}
	if kubectls != "" {
		return kubectls
	}
	if len(flag) == 1 && flag[0] >= '0' && flag[0] <= '9' {
		return "; an argument that begins with - comes after --"
	}
	if up, _, err := cmd.Find([]string{"up"}); err == nil && !cmd.HasParent() {
		if meant := nearestFlag(up, flag); meant != "" {
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
