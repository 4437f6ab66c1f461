package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/test/wire/exchange"
	"minikcm.dev/minikcm/test/wire/requests"
)

// options are the command's flags.
type options struct {
	upstream  string // the folder with upstream's kube-apiserver and etcd
	minikcm   string
	manifests string
	known     string
	out       string
	docs      string
	only      string
	part      int // of this many cases, one runs
}

func main() {
	var opts options
	flag.StringVar(&opts.upstream, "upstream", "bin/upstream", "folder with upstream's kube-apiserver and etcd")
	flag.StringVar(&opts.minikcm, "minikcm", "bin/minikcm", "the program to compare with them")
	flag.StringVar(&opts.manifests, "manifests", "apiserver/internal/resources/testdata", "folder with valid objects of all kinds, in the folders create and status")
	flag.StringVar(&opts.known, "known", "test/wire/known.yaml", "file with the known differences")
	flag.StringVar(&opts.out, "out", "bin/wire", "folder for the report and the servers' logs")
	flag.StringVar(&opts.docs, "docs", "", "document to update after a whole run")
	flag.StringVar(&opts.only, "run", "", "regular expression of the requests to compare, such as ^pods.v1/")
	flag.IntVar(&opts.part, "part", 1, "run one of this many cases, for a quick look at all kinds")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, opts, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wire:", err)
		stop()
		os.Exit(1)
	}
}

// run compares the servers. It returns an error if they differ in what is not known, or if a known
// difference was not met.
func run(ctx context.Context, opts options, stdout io.Writer) error {
	only, err := regexp.Compile(opts.only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	known, err := readKnown(opts.known)
	if err != nil {
		return err
	}
	elapsed := clock.Stopwatch()
	pair, stop, err := startPair(ctx, opts)
	if err != nil {
		return err
	}
	defer stop()
	cases, err := generate(ctx, pair.Upstream, opts)
	if err != nil {
		return err
	}
	documents, err := compareOpenAPI(ctx, pair)
	if err != nil {
		return err
	}
	r := newReport(known)
	for _, result := range documents {
		if only.MatchString(result.Name) {
			r.add(result)
		}
	}
	for result := range send(ctx, pair, cases, only, opts.part, r.expected) {
		r.add(result)
	}
	path := filepath.Join(opts.out, "report.txt")
	if err := r.write(path); err != nil {
		return err
	}
	whole := opts.only == "" && opts.part <= 1 && ctx.Err() == nil
	r.summarize(stdout, whole)
	fmt.Fprintf(stdout, "\n%v; the report is %s\n", elapsed().Round(1e8), path)
	if whole && opts.docs != "" {
		if err := updateDocs(opts.docs, r); err != nil {
			return err
		}
	}
	return r.err(whole)
}

// startPair starts both servers.
func startPair(ctx context.Context, opts options) (pair exchange.Pair, stop func(), err error) {
	ours, err := filepath.Abs(opts.minikcm)
	if err != nil {
		return pair, nil, err
	}
	dir := filepath.Join(opts.out, "programs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return pair, nil, err
	}
	// minikcm is kube-apiserver by the name with which it is started.
	program := filepath.Join(dir, "kube-apiserver")
	_ = os.Remove(program) // of an earlier run
	if err := os.Symlink(ours, program); err != nil {
		return pair, nil, err
	}
	files, err := os.MkdirTemp(opts.out, "servers-")
	if err != nil {
		return pair, nil, err
	}
	if err := writeShared(files); err != nil {
		return pair, nil, err
	}
	etcd := filepath.Join(opts.upstream, "etcd")
	type started struct {
		servers *servers
		server  *exchange.Server
		err     error
	}
	starting := make(chan started)
	go func() {
		s, server, err := startServers(ctx, filepath.Join(files, "upstream"), etcd, filepath.Join(opts.upstream, "kube-apiserver"))
		starting <- started{s, server, err}
	}()
	s, minikcm, err := startServers(ctx, filepath.Join(files, "minikcm"), etcd, program)
	upstream := <-starting
	stop = func() {
		for _, s := range []*servers{s, upstream.servers} {
			if s != nil {
				s.stop()
			}
		}
		_ = os.RemoveAll(files) // etcd's files
	}
	if err == nil {
		err = upstream.err
	}
	if err != nil {
		stop()
		return pair, nil, err
	}
	return exchange.Pair{Upstream: upstream.server, Minikcm: minikcm}, stop, nil
}

// generate returns the cases for the resources that upstream's discovery lists.
func generate(ctx context.Context, upstream *exchange.Server, opts options) ([]exchange.Case, error) {
	var discovery [][]byte
	for _, path := range []string{"/api", "/apis"} {
		document, err := upstream.Get(ctx, path, "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io")
		if err != nil {
			return nil, err
		}
		discovery = append(discovery, document)
	}
	kinds, err := requests.Kinds(discovery, opts.manifests)
	if err != nil {
		return nil, err
	}
	described, err := schemas(ctx, upstream)
	if err != nil {
		return nil, err
	}
	return requests.All(kinds, described), nil
}
