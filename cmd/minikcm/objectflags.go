package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/dump"
)

// objectFlags are those that name a dump.
type objectFlags struct {
	paths  []string
	redact bool
}

func (f *objectFlags) register(flags *pflag.FlagSet, usage string) {
	flags.StringArrayVar(&f.paths, "from-objects", nil, usage)
	flags.BoolVar(&f.redact, "redact-secrets", false, "replace the values of the Secrets of --from-objects by placeholders")
}

// read reads the dump; nil if no flag names one.
func (f *objectFlags) read(in io.Reader) (*dump.Dump, error) {
	if len(f.paths) == 0 {
		if f.redact {
			return nil, badInput{errors.New("--redact-secrets is for what --from-objects reads, which is missing")}
		}
		return nil, nil //nolint:nilnil // it is said above
	}
	d, err := dump.Read(f.paths, in)
	if err != nil {
		return nil, badInput{err}
	}
	if f.redact {
		d.RedactSecrets()
	}
	return d, nil
}

// printLoaded says what became of the dump that a cluster began with.
func printLoaded(cmd *cobra.Command, cluster *minikcm.Cluster) error {
	loaded := cluster.Loaded()
	if loaded == nil {
		return nil
	}
	return loaded.Print(cmd.ErrOrStderr())
}
