package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/internal/golden"
)

// exitRule is the meaning of the exit codes of all commands.
const exitRule = `| code | meaning |
| --- | --- |
| 0 | the command has done what it says, and the answer to its question is yes |
| 1 | it could not be done, or the answer is no |
| 2 | what was written is wrong: the command, a flag, an argument (also one that names a node, a workload, another object or a cluster that is not there), or a file that one of them or an environment variable names. Nothing was done |
| 130 | Ctrl-C ended it before it had a result (as in shells: 128 and the number of the signal) |
`

// exits says what 0 and 1 mean for a command, and which codes it has that exitRule does not have.
type exits struct{ yes, no, others string }

const (
	shown   = "it has been shown"
	noReply = "the cluster does not answer"

	envtestFailure  = "2 for every failure, as setup-envtest"
	uncertainAnswer = "3: the answer depends on something that the fork does not have, as it says"
)

// exitCodes has the commands that do something, by their paths.
var exitCodes = map[string]exits{
	"":                      {yes: "the help has been shown"},
	"clock":                 {shown, noReply, ""},
	"clock advance":         {"the time has passed", noReply + ", or its clock cannot be moved", "130: the clock stays where it is"},
	"clock pause":           {"time stands still", noReply + ", or its clock cannot be paused", ""},
	"clock resume":          {"time passes", noReply + ", or its clock cannot be controlled", ""},
	"clock speed":           {"the speed is set", noReply + ", or its clock cannot be controlled", ""},
	"clock step":            {"the next timer has fired", noReply + ", or its clock cannot be moved", "130: the clock stays where it is"},
	"completion bash":       {yes: shown},
	"completion fish":       {yes: shown},
	"completion powershell": {yes: shown},
	"completion zsh":        {yes: shown},
	"controller-manager":    {"it was stopped", "the cluster cannot be reached, or the process lost its leadership", ""},
	"controllers":           {shown, noReply, ""},
	"sample":                {"the samples have been listed, or one has been loaded or printed", noReply + ", or it refuses an object", ""},
	"demo":                  {"the tour has been shown, or ended with q", "a step failed", "130"},
	"down":                  {"the clusters have stopped, or none was running", "one could not be stopped", ""},
	"envtest":               {"the folder is ready", "the folder cannot be written, or has programs of others", ""},
	"envtest cleanup":       {yes: "the folders are gone", no: "-", others: envtestFailure},
	"envtest list":          {yes: shown, no: "-", others: envtestFailure},
	"envtest sideload":      {yes: "-", no: "-", others: "2, always: there is nothing to unpack"},
	"envtest use":           {yes: "the folder is ready", no: "-", others: envtestFailure},
	"envtest version":       {yes: shown, no: "-", others: envtestFailure},
	"etcd-snapshot":         {yes: "the help has been shown"},
	"fault":                 {yes: "the help has been shown"},
	"user":                  {yes: "the help has been shown"},
	"scenario":              {yes: "the help has been shown"},
	"rbac":                  {yes: "the help has been shown"},
	"node":                  {yes: "the help has been shown"},
	"etcd-snapshot check":   {"nothing is damaged", "something is damaged", ""},
	"etcd-snapshot repair":  {"what is readable was saved", "nothing can be saved", ""},
	"etcd-snapshot restore": {"the directory is ready", "the directory has a cluster, or cannot be written", ""},
	"etcd-snapshot save":    {"the snapshot is saved", noReply + ", or the file cannot be written", ""},
	"etcd-snapshot status":  {"the snapshot is sound", "the snapshot is damaged", ""},
	"example":               {"the program has ended, or was stopped", "the program failed", ""},
	"exec":                  {"the command ended with 0", "the cluster did not start", "otherwise the code of the command; 128 and the number of a signal that ended it"},
	"fault apply":           {"the faults have happened", "one failed", "130 with `--wait`"},
	"fault list":            {shown, noReply, ""},
	"fault stop":            {"the faults are over", "one could not be stopped", ""},
	"fault PART":            {"the fault has happened", "it failed", "130 with `--wait`"},
	"fit":                   {"one more replica fits, or all that `--replicas` asks for", "it does not fit", uncertainAnswer},
	"help":                  {yes: shown},
	"hunt":                  {"there is no finding", "there is a finding; or there was no hunt, since the operator does not start or come to rest", "130"},
	"images":                {yes: shown},
	"kubectl":               {"kubectl's", "kubectl's", "those of kubectl, whose wrong flags and arguments end with 1; 2: KUBECONFIG cannot be used"},
	"list":                  {shown, "the registry cannot be read", ""},
	"node add":              {"the nodes are Ready", "a node is not Ready in time", "2: a node exists already"},
	"node remove":           {"the nodes are gone, and their pods", "a pod is left in time", ""},
	"rbac record":           {"the command ended with 0", noReply, "otherwise the code of the command"},
	"open":                  {"it is in the browser, or its URL has been printed", noReply + ", or the Service is not published", ""},
	"reach":                 {"the connection arrives", "it does not, or the cluster does not answer", "3: it leads out of what is simulated"},
	"reset":                 {"the cluster is ready again", "it cannot be reset", ""},
	"run-deployment":        {"it was stopped", "the Deployment has no pod, or the command cannot be started", ""},
	"scenario list":         {yes: shown},
	"scenario new":          {"the file is written", "it cannot be written", ""},
	"scenario replay":       {"the run passed as before", "it failed", "130"},
	"scenario report":       {"the report is written", "it cannot be written", ""},
	"scenario run":          {"all scenarios passed", "one failed", "130, after the reports were written"},
	"scenario schema":       {yes: shown},
	"scenario show":         {yes: shown},
	"scenario validate":     {yes: "all scenarios are valid", others: "2: one is not"},
	"status":                {shown, noReply, ""},
	"ui":                    {shown, "the cluster has no page", ""},
	"up":                    {"it was stopped by a signal or by `minikcm down`; with `--detach`, the cluster is ready", "the cluster did not start, or failed", ""},
	"user add":              {"the kubeconfig is written", noReply + ", or the file cannot be written", ""},
	"version":               {yes: shown},
	"whatif":                {"everything fits", "pods stay pending, evictions are refused, or requests miss their objectives", uncertainAnswer},
	"why":                   {shown, noReply, ""},
	"writes":                {shown, noReply, ""},
}

// exitCodesOf returns the row of a command. The commands of the parts of "fault" share one.
func exitCodesOf(cmd *cobra.Command) (exits, string, bool) {
	path := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))
	if e, ok := exitCodes[path]; ok {
		return e, path, true
	}
	if strings.HasPrefix(path, "fault ") {
		return exitCodes["fault PART"], "fault PART", true
	}
	return exits{}, path, false
}

// needsCluster are command lines that are right, and that no cluster answers.
var needsCluster = []string{
	"clock", "clock advance 1m", "clock pause", "clock resume", "clock speed 2", "clock step", "controllers", "etcd-snapshot save a.db", "example discoveryclient",
	"fault list", "fault node crash node-1", "fault stop --all", "fit deployment/web", "node add a", "node remove a", "reset", "run-deployment web -- true", "status", "ui", "user add jane",
	"whatif drain a", "why pod/web", "writes",
}

// readsFile are command lines with a file of the wrong kind.
var readsFile = []string{
	"etcd-snapshot restore garbage --data-dir d", "exec --from-objects garbage -- true", "exec --from-snapshot garbage -- true", "fault apply -f garbage", "fit deployment/web --from-objects garbage",
	"fit deployment/web --from-snapshot garbage", "reach a b --from-objects garbage", "scenario run ./garbage", "scenario validate garbage", "status --kubeconfig garbage", "up --config garbage", "up --from-objects garbage",
	"up --from-snapshot garbage", "up --nodes garbage", "whatif drain a --from-objects garbage", "whatif drain a --from-snapshot garbage", "whatif drain a --kubeconfig garbage", "why pod/a --run garbage",
}

// TestMissingObjects runs commands whose arguments name what a cluster does not have.
func TestMissingObjects(t *testing.T) {
	t.Parallel()
	up, kubeconfig := launchUp(t, t.TempDir(), "--nodes", "1")
	defer up.stop()
	for _, line := range []string{
		"fault node crash gone", "fault pod kill gone", "fault stop f-9", "node remove gone", "whatif drain gone", "whatif scale deployment/gone=3", "fit deployment/gone", "why pod/gone", "why gone/a",
		"controllers gone", "run-deployment gone KUBECONFIG -- true",
	} {
		words := strings.Fields(strings.Replace(line, "KUBECONFIG", "--kubeconfig "+kubeconfig, 1))
		if !slices.Contains(words, "--kubeconfig") {
			words = append(words, "--kubeconfig", kubeconfig)
		}
		if code, _, errOut := call(words...); code != 2 || !strings.Contains(errOut, "gone") && !strings.Contains(errOut, "f-9") {
			t.Errorf("%q ends with %d: %s", line, code, errOut)
		}
	}
	if code, out, errOut := call("fault", "list", "--kubeconfig", kubeconfig); code != 0 || out != "There are no faults.\n" {
		t.Errorf("the faults are %s%s", out, errOut)
	}
}

// TestExitCodes compares the table of exit codes in the documentation with the commands, and some of the
// codes with what the commands do.
func TestExitCodes(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	docs, err := filepath.Abs("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	seen := map[string]bool{}
	var rows []string
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		if cmd.Runnable() && !cmd.Hidden {
			_, path, known := exitCodesOf(cmd)
			if !known {
				t.Errorf("the table of exit codes has no row for %q", path)
			}
			if !seen[path] {
				rows = append(rows, path)
			}
			seen[path] = true
			words := strings.Fields(cmd.CommandPath())[1:]
			if !cmd.DisableFlagParsing { // kubectl would end the test
				if code, _, errOut := call(append(words, "--no-such-flag")...); code != 2 {
					t.Errorf("%v with an unknown flag ends with %d: %s", words, code, errOut)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			add(sub)
		}
	}
	add(newRoot())
	for path := range exitCodes {
		if !seen[path] {
			t.Errorf("the table of exit codes has a row for %q, which is no command", path)
		}
	}
	for _, line := range needsCluster {
		if code, _, errOut := call(strings.Fields(line)...); code != 1 || !strings.Contains(errOut, "minikcm") && !strings.Contains(errOut, "no cluster") {
			t.Errorf("without a cluster, %q ends with %d: %s", line, code, errOut)
		}
	}
	for _, line := range needsCluster {
		words := strings.Fields(strings.Replace(line, " --", " --kubeconfig nope --", 1))
		if !slices.Contains(words, "--kubeconfig") {
			words = append(words, "--kubeconfig", "nope")
		}
		if code, _, errOut := call(words...); code != 2 || !strings.Contains(errOut, "the kubeconfig nope does not exist") {
			t.Errorf("%q ends with %d: %s", words, code, errOut)
		}
	}
	if err := os.WriteFile("garbage", []byte("\x00\x01 no: [such"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range readsFile {
		if code, _, errOut := call(strings.Fields(line)...); code != 2 || !strings.Contains(errOut, "garbage") {
			t.Errorf("%q ends with %d: %s", line, code, errOut)
		}
	}
	for _, line := range []string{"down a", "down a b"} {
		if code, _, errOut := call(strings.Fields(line)...); code != 2 || !strings.Contains(errOut, "no cluster is running") {
			t.Errorf("without a cluster, %q ends with %d: %s", line, code, errOut)
		}
	}
	golden.Compare(t, docs, exitHead+exitRule+exitPrograms+exitTable(rows))
}

const exitHead = `# Exit codes

Generated by ` + "`go test ./cmd/minikcm -run ExitCodes -update`" + `.

`

const exitPrograms = `
The programs of [minikcm envtest](envtest.md) end with 2 for wrong flags and files, and with 1 for any other failure.

`

// exitTable prints the table of docs/exit-codes.md.
func exitTable(commands []string) string {
	var b strings.Builder
	b.WriteString("| command | 0 | 1 | others |\n| --- | --- | --- | --- |\n")
	for _, path := range commands {
		e := exitCodes[path]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.TrimSpace("minikcm "+path), e.yes, cmp.Or(e.no, "-"), cmp.Or(e.others, "-"))
	}
	return b.String()
}
