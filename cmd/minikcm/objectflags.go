package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/dump"
)

// objectFlags are the flags that select a dump.
type objectFlags struct {
	paths  []string
	redact bool
}

func (f *objectFlags) register(flags *pflag.FlagSet, usage string) {
	flags.StringArrayVar(&f.paths, "from-objects", nil, usage)
	flags.BoolVar(&f.redact, "redact-secrets", false, "replace the values in the Secrets of --from-objects with placeholders")
}

// read reads the dump. It returns nil if no flag selects one.
func (f *objectFlags) read(in io.Reader) (*dump.Dump, error) {
	if len(f.paths) == 0 {
		if f.redact {
			return nil, badInput{errors.New("--redact-secrets needs --from-objects, which is missing")}
		}
		return nil, nil
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

// printLoaded prints the summary of the dump that a cluster loaded, if it loaded one.
func printLoaded(cmd *cobra.Command, cluster *minikcm.Cluster) error {
	loaded := cluster.Loaded()
	if loaded == nil {
		return nil
	}
	return loaded.Print(cmd.ErrOrStderr())
}
