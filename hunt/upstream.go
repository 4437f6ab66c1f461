package hunt

import (
	"context"
	_ "embed" // the scenario
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// upstreamScenario is the scenario in which another controller manager, or scheduler, is hunted if there is no other.
//
//go:embed kcm.yaml
var upstreamScenario []byte

// helpLimit bounds the time in which a program prints its help.
const helpLimit = 30 * time.Second

// HuntUpstream hunts for bugs of a kube-controller-manager, or of a kube-scheduler, that is a program of this machine. It takes the place of
// minikcm's own controllers or scheduler in the clusters, except of the controllers that need keys. The rest is as for HuntBinary, but
// Command has no effect, an empty Scenario is one that minikcm has, and the clocks of the clusters begin now, since the program's clock is
// the machine's.
func HuntUpstream(ctx context.Context, path string, b Binary) (*Report, error) {
	names, flags, err := upstreamParts(ctx, path)
	if err != nil {
		return nil, err
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("%s is run by a shell: %w", path, err)
	}
	b.Command = append([]string{shell, "-c", `exec "$0" "$@" --kubeconfig "$KUBECONFIG"`, path}, flags...)
	file := &scenarioFile{"kcm.yaml", upstreamScenario, b.Set}
	workload, err := newScenario(file)
	if b.Scenario != "" {
		workload, err = readScenario(b.Scenario, b.Set)
	}
	if err != nil {
		return nil, err
	}
	return huntProgram(ctx, b, workload, WithCluster(without(names), func(o *minikcm.Options) {
		if o.Clock.Start.IsZero() {
			o.Clock.Start = clock.Real().Now()
		}
	}))
}

// CheckUpstream returns why HuntUpstream refuses a program; nil if it does not. It runs the program's --help.
func CheckUpstream(ctx context.Context, path string) error {
	_, _, err := upstreamParts(ctx, path)
	return err
}

// upstreamParts returns which parts of the control plane a program has, under minikcm's names, and the flags with which it runs them.
func upstreamParts(ctx context.Context, path string) (names, flags []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, helpLimit)
	defer cancel()
	help, err := exec.CommandContext(ctx, path, "--help").CombinedOutput() // the user asked to run it
	if err != nil {
		return nil, nil, fmt.Errorf("running %s --help: %w", path, err)
	}
	// Their limits are for the machine's time, and the cluster's is faster.
	flags = []string{"--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=1000"}
	if _, list, ok := strings.Cut(string(help), "All controllers: "); ok {
		list, _, _ = strings.Cut(list, "\n")
		theirs := strings.Split(list, ", ")
		ours, err := huntable("")
		if err != nil {
			return nil, nil, err
		}
		names = slices.DeleteFunc(ours, func(name string) bool { return !slices.Contains(theirs, name) })
		return names, append(flags, "--use-service-account-credentials=false", "--controllers="+strings.Join(names, ",")), nil
	}
	if strings.Contains(string(help), "scheduler") && strings.Contains(string(help), "--write-config-to") {
		return []string{ownScheduler}, flags, nil
	}
	return nil, nil, fmt.Errorf("%s is neither a kube-controller-manager nor a kube-scheduler: its --help lists no controllers, and no --write-config-to", path)
}
