package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// absentFlags are flags of a program that minikcm replaces and that have no effect here. Those
// that a command line sets are named in the log, so that their lack of effect is no surprise;
// a flag that the program does not have either is an error, as there.
type absentFlags struct{ set []string }

// absentFlag is the value of one of them.
type absentFlag struct {
	name, kind string
	flags      *absentFlags
}

func (f *absentFlag) String() string { return "" }
func (f *absentFlag) Type() string   { return f.kind }

// Set implements pflag.Value.
func (f *absentFlag) Set(text string) error {
	if f.kind == "bool" {
		if _, err := strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	}
	if !slices.Contains(f.flags.set, f.name) {
		f.flags.set = append(f.flags.set, f.name)
	}
	return nil
}

// register adds flags, whose names are separated by spaces. bools need no value.
func (a *absentFlags) register(flags *pflag.FlagSet, bools, others string) {
	for kind, names := range map[string]string{"bool": bools, "string": others} {
		for name := range strings.FieldsSeq(names) {
			flag := flags.VarPF(&absentFlag{name: name, kind: kind, flags: a}, name, "", "has no effect")
			flag.Hidden = true
			if kind == "bool" {
				flag.NoOptDefVal = "true"
			}
		}
	}
}

// report names the flags that were set.
func (a *absentFlags) report(w io.Writer, program string) {
	slices.Sort(a.set)
	for _, name := range a.set {
		_, _ = fmt.Fprintf(w, "%s: --%s has no effect: minikcm does not have what it configures\n", program, name)
	}
}
