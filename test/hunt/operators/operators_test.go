package operators

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/scenarios"
)

var (
	hunted   = flag.Bool("hunt", false, "build the operators, and hunt them")
	operator = flag.String("operator", "", "hunt only the operators whose names begin with this")
	budget   = flag.String("budget", "5m", "time after which no new run of a hunt begins; 0 makes the known disturbances only")
)

// operators are operators of other projects. Each name is of a folder with a module, and each has a scenario with the name's first part.
var operators = []struct {
	name string
	// module is the operator's, with its definitions of resources in crds, and program its main package beneath the module.
	module, program, crds string
	// command has $PROGRAM for the program.
	command string
	// bug is a published one, and known a disturbance that shows it unless the operator is repaired.
	bug, known string
	repaired   bool
}{
	{
		name: "rabbitmq-1.8.0", module: "github.com/rabbitmq/cluster-operator", crds: "config/crd/bases",
		command: elects + `KUBE_CONFIG="$KUBECONFIG" $PROGRAM --metrics-addr=0`,
		bug:     "#782", known: "crash after delete statefulsets.apps default/queue-server",
	},
	{
		name: "rabbitmq-2.16.0", module: "github.com/rabbitmq/cluster-operator/v2", crds: "config/crd/bases",
		command: elects + `$PROGRAM --metrics-bind-address=0`,
		bug:     "#782", known: "crash after delete statefulsets.apps default/queue-server", repaired: true,
	},
	{
		name: "kuberay-1.2.2", module: "github.com/ray-project/kuberay/ray-operator", crds: "config/crd/bases", command: ray,
		bug: "#715", known: "late events of pods from create pods default/ray-head-*",
	},
	{
		name: "kuberay-1.4.2", module: "github.com/ray-project/kuberay/ray-operator", crds: "config/crd/bases", command: ray,
		bug: "#715", known: "late events of pods from create pods default/ray-head", repaired: true,
	},
}

const (
	// elects makes the election of a leader short, which RabbitMQ's operator cannot do without.
	elects = "OPERATOR_NAMESPACE=default LEASE_DURATION=3 RENEW_DEADLINE=2 RETRY_PERIOD=1 "
	ray    = "$PROGRAM --metrics-addr=0 --health-probe-bind-address=0 --enable-leader-election=false"
)

// Each operator has a scenario that can be read.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, o := range operators {
		file := scenarioOf(o.name)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := scenarios.Parse(file, data, map[string]string{"CRDS": t.TempDir()}); err != nil || len(found) != 1 {
			t.Errorf("%s has %d scenarios: %v", file, len(found), err)
		}
	}
}

func scenarioOf(name string) string {
	project, _, _ := strings.Cut(name, "-")
	return project + ".yaml"
}

// With -hunt, published bugs show themselves, and their repairs do not; what else a hunt finds is printed.
func TestHunt(t *testing.T) {
	if !*hunted {
		t.Skip("go test ./test/hunt/operators -hunt hunts operators of other projects: it builds them, and takes minutes")
	}
	for _, o := range operators {
		if !strings.HasPrefix(o.name, *operator) {
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), o.name)
			run(t, nil, "go", "-C", o.name, "build", "-o", program, strings.TrimSuffix(o.module+"/"+o.program, "/"))
			crds := filepath.Join(strings.TrimSpace(run(t, nil, "go", "-C", o.name, "list", "-m", "-f", "{{.Dir}}", o.module)), filepath.FromSlash(o.crds))
			command := strings.ReplaceAll(o.command, "$PROGRAM", program)
			hunt := []string{"hunt", "--operator", command, scenarioOf(o.name), "--set", "CRDS=" + crds, "--parallel", "4"}
			if o.known != "" {
				out := run(t, []int{1}, minikcm(), append(slices.Clone(hunt), "-o", "json", "--replay", o.known)...)
				var report struct{ Findings []struct{ Story string } }
				if err := json.Unmarshal([]byte(out), &report); err != nil {
					t.Fatal(err)
				}
				if found := len(report.Findings) > 0; found == o.repaired {
					t.Errorf("%s: %q has %d findings", o.bug, o.known, len(report.Findings))
				}
				for _, found := range report.Findings {
					t.Logf("%s: %s", o.bug, found.Story)
				}
			}
			if *budget != "0" {
				t.Log(run(t, []int{1}, minikcm(), append(hunt, "--budget", *budget)...))
			}
		})
	}
}

func minikcm() string {
	if binary := os.Getenv("MINIKCM"); binary != "" {
		return binary
	}
	return "minikcm"
}

// run runs a command that ends with 0 or one of codes, and returns its standard output.
func run(t *testing.T, codes []int, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil && !slices.Contains(codes, cmd.ProcessState.ExitCode()) {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}
