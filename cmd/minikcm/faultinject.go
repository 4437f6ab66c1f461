package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/scenarios/fault"
)

// injectFlags are the flags of the commands that inject faults.
type injectFlags struct {
	*faultFlags
	wait   bool
	output string
}

func (f *injectFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "return when the fault is over; Ctrl-C or a lost connection stops the fault")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "output format: json (default text)")
}

// inject injects faults and returns once they have happened or, with --wait, once they are
// over.
func (f *injectFlags) inject(cmd *cobra.Command, faults ...*fault.Fault) error {
	if f.output != "" && f.output != "json" {
		return badInput{fmt.Errorf("--output=%s: must be json or omitted", f.output)}
	}
	client, err := f.client(cmd.Context())
	if err != nil {
		return err
	}
	if err := f.checkNames(cmd.Context(), faults); err != nil {
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

// checkNames returns badInput if a fault that happens now names a node or a pod that does not exist. Other
// errors are left to the injection.
func (f *injectFlags) checkNames(ctx context.Context, faults []*fault.Fault) error {
	_, client, err := clusterOf(ctx, f.kubeconfig)
	if err != nil {
		return err
	}
	missing := func(what, lists, name string, err error) error {
		if !apierrors.IsNotFound(err) {
			return nil
		}
		return badInput{fmt.Errorf("%s %s does not exist, so no fault was injected; \"minikcm kubectl get %s\" lists those that do", what, name, lists)}
	}
	for _, one := range faults {
		if one.Repeats() {
			continue // it may exist by then
		}
		if nodes := one.Nodes; nodes != nil {
			for _, name := range nodes.Names {
				_, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
				if err := missing("node", "nodes", name, err); err != nil {
					return err
				}
			}
		}
		if pods := one.Pods; pods != nil && pods.All && len(pods.Namespaces) == 0 {
			for _, name := range pods.Names {
				_, err := client.CoreV1().Pods(pods.Namespace).Get(ctx, name, metav1.GetOptions{})
				if err := missing("pod", "pods -n "+pods.Namespace, name, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// faultPrinter prints the progress of faults. Its methods may be called concurrently.
type faultPrinter struct {
	out, hints io.Writer
	output     string

	mu sync.Mutex
}

// begin injects a fault and follows it until it has happened. A fault with a schedule, which
// may first happen in days, is not followed.
func (p *faultPrinter) begin(ctx context.Context, client *faultapi.Client, f *fault.Fault) error {
	injection, err := client.Inject(ctx, f)
	if err != nil {
		return err
	}
	id := injection.ID
	if f.Schedule == "" {
		happened, printed := errors.New("it has happened"), -1
		injection, err = client.Follow(ctx, id, func(i *faultapi.Injection) error {
			printed = p.news(i, printed, "  ")
			if i.State != faultapi.Pending {
				return happened
			}
			return nil
		})
		if err != nil && !errors.Is(err, happened) {
			return fmt.Errorf("%w; the fault continues: \"minikcm fault stop %s\" stops it", err, id)
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

// hint returns a sentence about how an injected fault ends.
func hint(f *fault.Fault, id string) string {
	switch {
	case f.Repeats():
		return fmt.Sprintf("The fault repeats: \"minikcm fault list\" shows what it does, and \"minikcm fault stop %s\" stops it.", id)
	case f.For > 0:
		return fmt.Sprintf("\"minikcm fault stop %s\" stops the fault early.", id)
	}
	return fmt.Sprintf("The fault lasts until \"minikcm fault stop %s\", or until the cluster stops.", id)
}

// last prints the final state of a fault if the output format is JSON.
func (p *faultPrinter) last(i *faultapi.Injection) {
	if p.output != "json" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = printJSON(p.out, i) // fails only if the reader is gone
}

// hold injects faults and prints their effects until all are over.
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

// news prints the notes of a fault after the first printed ones, each with the prefix. If
// printed is negative, the title is printed first. It returns the number of notes printed
// so far.
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

// maxFaultFile caps the size of a file of faults, in bytes.
const maxFaultFile = 1 << 20

func newFaultApply(f *faultFlags) *cobra.Command {
	flags := &injectFlags{faultFlags: f}
	var files []string
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Inject the faults in a file",
		Long: `Inject the faults in a file of YAML or JSON. Each document contains one fault, written as
in the step "fault" of a scenario. All faults are checked before the first one is
injected.`,
		Example: `  minikcm fault apply -f faults.yaml
  echo '{pods: {action: kill, percent: 30}, every: 10s}' | minikcm fault apply -f - --wait`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return badInput{errors.New("-f is missing: give a file of faults, or - for standard input")}
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
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "file of faults; - is standard input")
	flags.register(cmd)
	return cmd
}

// readFaults parses the faults in a file, or in the reader in if file is "-".
func readFaults(file string, in io.Reader) ([]*fault.Fault, error) {
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("reading the faults: %w", err)
		}
		defer opened.Close() // read only
		in = opened
	}
	data, err := readAtMost(in, maxFaultFile)
	if err != nil {
		return nil, fmt.Errorf("reading the faults in %s: %w", file, err)
	}
	return fault.Parse(file, data)
}

// readAtMost reads a file, which has an end or not. It fails if the file is larger than limit bytes.
func readAtMost(in io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("the file is larger than %d bytes", limit)
	}
	return data, err
}
