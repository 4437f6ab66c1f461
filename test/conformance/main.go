package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// options are the command's flags.
type options struct {
	bin     string // the folder with minikcm, ginkgo and e2e.test
	out     string
	passing string
	images  string // the folder of image profiles; empty: none
	focus   string
	skip    string
	gates   bool // the feature gates of minikcm are on
	network bool // the cluster has two nodes in each of three zones, and two IP families, and the suite reaches its load balancers
	procs   int
	nodes   int
	timeout string
	update  bool
}

func main() {
	var opts options
	flag.StringVar(&opts.bin, "bin", "../../bin", "folder with the binaries minikcm, ginkgo and e2e.test")
	flag.StringVar(&opts.out, "out", "../../_artifacts/conformance", "folder for the log, the JUnit file and the JSON report")
	flag.StringVar(&opts.passing, "passing", "passing.txt", "the list of tests that have to pass")
	flag.StringVar(&opts.images, "images", "", "folder with profiles of images; the list is passing.txt with passing-with-images.txt then")
	flag.StringVar(&opts.focus, "focus", "", "regular expression of the tests to run; without it, those of the list")
	flag.StringVar(&opts.skip, "skip", "", "regular expression of tests that are not run although -focus matches them")
	flag.BoolVar(&opts.gates, "gates", false, "turn on the feature gates that have an effect; the list is passing-with-gates.txt then")
	flag.BoolVar(&opts.network, "network", false, "give the cluster six nodes in three zones, and addresses of both IP families, and publish its load balancers on this machine; the list is passing-with-network.txt then")
	flag.IntVar(&opts.procs, "procs", 4, "how many tests run at a time")
	flag.IntVar(&opts.nodes, "nodes", 3, "how many nodes the cluster has")
	flag.StringVar(&opts.timeout, "timeout", "2h", "when to give up on the whole run")
	flag.BoolVar(&opts.update, "update", false, "add what passes now to the list, and remove names that no test has")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, opts, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1)
	}
}

// run runs the suite and reports the results. It returns an error if a test of the list is
// lost or no test ran.
func run(ctx context.Context, opts options, stdout io.Writer) error {
	if opts.network && opts.images == "" {
		return errors.New("-network needs -images: without profiles, no container of the suite answers")
	}
	list, err := readLists(opts)
	if err != nil {
		return err
	}
	focus := opts.focus
	if focus == "" {
		focus = list.pattern(!opts.network)
	}
	if err := os.MkdirAll(opts.out, 0o755); err != nil {
		return fmt.Errorf("making the folder for the results: %w", err)
	}
	report := filepath.Join(opts.out, reportFile)
	if err := os.Remove(report); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the last run's report: %w", err)
	}
	suiteErr := runSuite(ctx, opts, focus)
	results, err := readReport(report)
	if err != nil {
		return errors.Join(suiteErr, err)
	}
	// The suite fails if any test fails, but only the tests of the list count.
	verdict := list.compare(results)
	verdict.print(stdout)
	if opts.update {
		return list.update(verdict)
	}
	return verdict.err()
}

// readLists reads the list of tests. With profiles of images it has those tests, too, that pass only
// with them; what is gained is added to these. -gates selects another list, and
// -network the list of the tests that need two IP families, zones, or published load balancers.
func readLists(opts options) (*list, error) {
	if opts.gates {
		return readList(filepath.Join(filepath.Dir(opts.passing), "passing-with-gates.txt"))
	}
	l, err := readList(opts.passing)
	if err != nil {
		return nil, err
	}
	further := []string{"passing-with-images.txt", "passing-with-network.txt"}
	switch {
	case opts.images == "":
		further = nil
	case !opts.network:
		further = further[:1]
	}
	for _, name := range further {
		others := l.all()
		if l, err = readList(filepath.Join(filepath.Dir(opts.passing), name)); err != nil {
			return nil, err
		}
		l.others = others
	}
	return l, nil
}

// runSuite starts a cluster and runs the suite on it, with the output in a file.
func runSuite(ctx context.Context, opts options, focus string) error {
	bin, err := filepath.Abs(opts.bin)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(opts.out)
	if err != nil {
		return err
	}
	kubectl, err := writeKubectl(bin, out)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(out, "log.txt"))
	if err != nil {
		return fmt.Errorf("creating the log: %w", err)
	}
	defer log.Close()
	fmt.Printf("running; the log is %s\n", log.Name())
	images, err := filepath.Abs(opts.images)
	if err != nil {
		return err
	}
	begin := `exec "$@"`
	if opts.images != "" {
		begin = fmt.Sprintf("%q apply -f %q && %s", kubectl, images, begin)
	}
	args := []string{"exec"}
	if opts.network {
		opts.nodes = 6
		for _, zone := range strings.Fields("a b c") {
			args = append(args, "--pool", "name="+zone+",nodes=2,label=topology.kubernetes.io/zone="+zone)
		}
	} else {
		args = append(args, "--nodes", strconv.Itoa(opts.nodes))
	}
	if opts.gates {
		args = append(args, "--feature-gates", "GenericWorkload=true,DRAResourcePoolStatus=true,DRAPartitionableDevicesType=true,StorageVersionAPI=true",
			"--runtime-config", "scheduling.k8s.io/v1beta1=true,resource.k8s.io/v1alpha3=true,internal.apiserver.k8s.io/v1alpha1=true")
	}
	if opts.network {
		args = append(args, "--publish", "--service-cluster-ip-range", "10.96.0.0/16,fd00:10:96::/112")
	}
	args = append(args,
		"--", "sh", "-c", begin, "sh",
		filepath.Join(bin, "ginkgo"), "run", "--procs", strconv.Itoa(opts.procs), "--focus", focus, "--no-color", "--keep-going",
		"--timeout", opts.timeout, "--output-dir", out, "--json-report", reportFile, "--junit-report", "junit.xml",
	)
	if opts.skip != "" {
		args = append(args, "--skip", opts.skip)
	}
	args = append(args, filepath.Join(bin, "e2e.test"), "--", "--provider", "skeleton", "--num-nodes", strconv.Itoa(opts.nodes), "--kubectl-path", kubectl, "--e2e-output-dir", out)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "minikcm"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the suite: %w; see %s", err, log.Name())
	}
	return nil
}

// writeKubectl writes a script that runs minikcm's built-in kubectl, so that the machine needs
// no installed kubectl.
func writeKubectl(bin, out string) (string, error) {
	script := filepath.Join(out, "kubectl")
	text := fmt.Sprintf("#!/bin/sh\nexec %q kubectl \"$@\"\n", filepath.Join(bin, "minikcm"))
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil { // executable
		return "", fmt.Errorf("writing the kubectl script: %w", err)
	}
	return script, nil
}
