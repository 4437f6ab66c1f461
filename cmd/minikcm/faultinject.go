package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/scenarios/fault"
	"minikcm.dev/minikcm/scenarios/faultapi"
)

// injectFlags are those of the commands that inject faults.
type injectFlags struct {
	*faultFlags
	wait   bool
	output string
}

func (f *injectFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "return when it is over; Ctrl-C, or the loss of the connection, takes it back")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "json")
}

// inject injects faults and returns when they have happened, or with --wait when they are
// over.
func (f *injectFlags) inject(cmd *cobra.Command, faults ...*fault.Fault) error {
	if f.output != "" && f.output != "json" {
		return badInput{fmt.Errorf("--output=%s: must be json, or left out", f.output)}
	}
	client, err := f.client(cmd.Context())
	if err != nil {
		return err
	}
	p := &faultPrinter{out: cmd.OutOrStdout(), hints: cmd.ErrOrStderr(), output: f.output}
	if f.wait {
		return p.hold(cmd.Context(), client, faults)
	}
	var failed []error
	for _, one := range faults {
		if err := p.begin(cmd.Context(), client, one); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// faultPrinter shows faults on their way.
type faultPrinter struct {
	out, hints io.Writer
	output     string

	mu sync.Mutex
}

// begin injects a fault and shows it when it has happened.
func (p *faultPrinter) begin(ctx context.Context, client *faultapi.Client, f *fault.Fault) error {
	injection, err := client.Inject(ctx, f)
	if err != nil {
		return err
	}
	id := injection.ID
	if f.Schedule == "" { // which may be days ahead
		happened, printed := errors.New("it has happened"), -1
		injection, err = client.Follow(ctx, id, func(i *faultapi.Injection) error {
			printed = p.news(i, printed, "  ")
			if i.State != faultapi.Pending {
				return happened
			}
			return nil
		})
		if err != nil && !errors.Is(err, happened) {
			return fmt.Errorf("%w; the fault goes on: \"minikcm fault stop %s\" takes it back", err, id)
		}
	} else {
		p.news(injection, -1, "  ")
	}
	p.last(injection)
	if injection.State == faultapi.Failed {
		return fmt.Errorf("the fault %s (%s) failed: %s", id, injection.Title, injection.Error)
	}
	if p.output == "" && !injection.State.Done() {
		_, _ = fmt.Fprintln(p.hints, hint(f, id))
	}
	return nil
}

// hint says how a fault that was injected comes to its end.
func hint(f *fault.Fault, id string) string {
	switch {
	case f.Repeats():
		return fmt.Sprintf("It goes on: \"minikcm fault list\" shows what it does, and \"minikcm fault stop %s\" ends it.", id)
	case f.For > 0:
		return fmt.Sprintf("\"minikcm fault stop %s\" takes it back before its time is over.", id)
	}
	return fmt.Sprintf("It lasts until \"minikcm fault stop %s\", or the end of the cluster.", id)
}

// last prints a fault as it is in the end, if it is to be JSON.
func (p *faultPrinter) last(i *faultapi.Injection) {
	if p.output != "json" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	data, err := json.MarshalIndent(i, "", "    ")
	_ = write(p.out, append(data, '\n'), err) // fails only if its reader is gone
}

// hold injects faults and shows what they do until all are over.
func (p *faultPrinter) hold(ctx context.Context, client *faultapi.Client, faults []*fault.Fault) error {
	failures := make([]error, len(faults))
	var all sync.WaitGroup
	for i, f := range faults {
		all.Go(func() { failures[i] = p.holdOne(ctx, client, f) })
	}
	all.Wait()
	return errors.Join(failures...)
}

func (p *faultPrinter) holdOne(ctx context.Context, client *faultapi.Client, f *fault.Fault) error {
	printed := -1
	last, err := client.Hold(ctx, f, 0, func(i *faultapi.Injection) error {
		printed = p.news(i, printed, i.ID+": ")
		return nil
	})
	switch {
	case err != nil && ctx.Err() != nil && last != nil && last.State == faultapi.Stopped:
		return exitCode(interrupted)
	case err != nil:
		return err
	case last.State == faultapi.Failed:
		return fmt.Errorf("the fault %s (%s) failed: %s", last.ID, last.Title, last.Error)
	}
	p.last(last)
	return nil
}

// news prints, each behind prefix, the notes of a fault that follow the first printed ones,
// with the title if printed is negative. It returns how many have been printed.
func (p *faultPrinter) news(i *faultapi.Injection, printed int, prefix string) int {
	known := i.Forgotten + len(i.Notes)
	if p.output == "json" {
		return known
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if printed < 0 {
		_, _ = fmt.Fprintf(p.out, "%s: %s\n", i.ID, i.Title)
	}
	for n := max(printed, i.Forgotten, 0); n < known; n++ {
		_, _ = fmt.Fprintf(p.out, "%s%s\n", prefix, i.Notes[n-i.Forgotten].Text)
	}
	return known
}

// maxFaultFile caps a file of faults, in bytes.
const maxFaultFile = 1 << 20

func newFaultApply(f *faultFlags) *cobra.Command {
	flags := &injectFlags{faultFlags: f}
	var files []string
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Inject the faults in a file",
		Long: `apply injects faults that are written as the step "fault" of a scenario, in YAML or
JSON, one in each document. All are checked before the first is injected.`,
		Example: `  minikcm fault apply -f faults.yaml
  echo '{pods: {action: kill, percent: 30}, every: 10s}' | minikcm fault apply -f - --wait`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return badInput{errors.New("-f is missing: name the file with the faults, or - for the standard input")}
			}
			var faults []*fault.Fault
			var problems error
			for _, file := range files {
				found, err := readFaults(file, cmd.InOrStdin())
				faults, problems = append(faults, found...), errors.Join(problems, err)
			}
			if problems != nil {
				return badInput{problems}
			}
			return flags.inject(cmd, faults...)
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "file with faults; - is the standard input")
	flags.register(cmd)
	return cmd
}

// readFaults reads a file, or in for "-".
func readFaults(file string, in io.Reader) ([]*fault.Fault, error) {
	if file != "-" {
		opened, err := os.Open(file) // as any file that a user names
		if err != nil {
			return nil, fmt.Errorf("reading the faults: %w", err)
		}
		defer opened.Close() // it is only read
		in = opened
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFaultFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the faults in %s: %w", file, err)
	case len(data) > maxFaultFile:
		return nil, fmt.Errorf("reading the faults in %s: it has more than %d bytes", file, maxFaultFile)
	}
	return fault.Parse(file, data)
}
