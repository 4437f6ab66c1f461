package main

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/api/v3/version"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/store"
)

// etcdServerFlags are the flags of etcd.
type etcdServerFlags struct {
	name              string
	listen, advertise []string
	initial           string
	certAuth          bool
	opts              store.ServerOptions
	absent            absentFlags
}

// newEtcdServer is the command of the program etcd in the folder of "minikcm envtest".
func newEtcdServer() *cobra.Command {
	var flags etcdServerFlags
	cmd := &cobra.Command{
		Use:   programEtcd,
		Short: "An etcd of one member, with etcd's flags",
		Long: `Run an etcd of one member until SIGINT or SIGTERM, with etcd's flags. A single member has
no peers, so it does not listen for them. The other flags of etcd are accepted, and named
on stderr.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setLogging(cmd.ErrOrStderr(), 0); err != nil {
				return err
			}
			opts, err := flags.options()
			if err != nil {
				return badInput{err}
			}
			flags.absent.report(cmd.ErrOrStderr(), programEtcd)
			return serveEtcd(cmd, opts)
		},
	}
	cmd.SetFlagErrorFunc(badFlag)
	flags.register(cmd.Flags())
	cmd.Version = fmt.Sprintf("etcd Version: %s\nGo Version: %s\nGo OS/Arch: %s/%s", version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	cmd.SetVersionTemplate("{{.Version}}\n")
	return cmd
}

func (f *etcdServerFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.name, "name", "default", "name of the member")
	flags.StringVar(&f.opts.DataDir, "data-dir", "", "data directory (default NAME.etcd)")
	flags.StringSliceVar(&f.listen, "listen-client-urls", []string{"http://localhost:2379"}, "URLs to serve clients on")
	flags.StringSliceVar(&f.advertise, "advertise-client-urls", nil, "URLs in the list of members, which clients read (default --listen-client-urls)")
	flags.StringSlice("listen-peer-urls", nil, "accepted: a single member has no peers")
	flags.StringSlice("initial-advertise-peer-urls", nil, "accepted: a single member has no peers")
	flags.StringVar(&f.initial, "initial-cluster", "", "the members, NAME=URL; more than one is an error")
	flags.BoolVar(&f.opts.NoFsync, "unsafe-no-fsync", false, "acknowledge writes before they are on the disk")
	flags.Int64Var(&f.opts.QuotaBytes, "quota-backend-bytes", 0, "maximum size of the database; 0 means 8 GiB")
	flags.StringVar(&f.opts.CertFile, "cert-file", "", "file with the certificate of https URLs, in PEM")
	flags.StringVar(&f.opts.KeyFile, "key-file", "", "file with the key of --cert-file, in PEM")
	flags.StringVar(&f.opts.TrustedCAFile, "trusted-ca-file", "", "file with the authorities of client certificates, in PEM")
	flags.BoolVar(&f.certAuth, "client-cert-auth", false, "clients need a certificate of an authority in --trusted-ca-file")
	f.absent.register(flags, absentEtcdBools, absentEtcdFlags)
}

// options returns the options that the flags describe.
func (f *etcdServerFlags) options() (store.ServerOptions, error) {
	opts := f.opts
	if opts.DataDir == "" {
		opts.DataDir = f.name + ".etcd"
	}
	opts.Logger = klog.Background()
	for _, name := range f.absent.set {
		if name == "config-file" || name == "discovery" || name == "discovery-srv" || name == "discovery-token" {
			return opts, fmt.Errorf("--%s is not supported: give the settings as flags", name)
		}
	}
	if strings.Contains(f.initial, ",") {
		return opts, fmt.Errorf("--initial-cluster %s names several members, but minikcm's etcd is a cluster of one: use etcd's own program for more", f.initial)
	}
	if (opts.CertFile == "") != (opts.KeyFile == "") {
		return opts, errors.New("--cert-file and --key-file must be given together")
	}
	if f.certAuth != (opts.TrustedCAFile != "") {
		return opts, errors.New("--client-cert-auth and --trusted-ca-file must be given together")
	}
	var err error
	if opts.ClientURLs, err = parseURLs("listen-client-urls", f.listen, opts.CertFile != ""); err != nil {
		return opts, err
	}
	opts.AdvertiseURLs, err = parseURLs("advertise-client-urls", f.advertise, true)
	return opts, err
}

// parseURLs parses the value of a flag. Without a certificate, https is an error.
func parseURLs(flag string, texts []string, certificate bool) ([]url.URL, error) {
	var urls []url.URL
	for _, text := range texts {
		u, err := url.Parse(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--%s %s: %w", flag, text, err)
		case u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.Path != "":
			return nil, fmt.Errorf("--%s %s must be a URL such as http://127.0.0.1:2379", flag, text)
		case u.Scheme == "https" && !certificate:
			return nil, fmt.Errorf("--%s %s: https needs --cert-file and --key-file", flag, text)
		}
		urls = append(urls, *u)
	}
	return urls, nil
}

// serveEtcd serves until the command is interrupted or the server fails.
func serveEtcd(cmd *cobra.Command, opts store.ServerOptions) (err error) {
	server, err := store.StartServer(cmd.Context(), opts)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w\nchoose another port with --listen-client-urls, or stop the process that listens on it", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for _, u := range opts.ClientURLs {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Serving %s\n", u.String()); err != nil {
			return err
		}
	}
	select {
	case <-cmd.Context().Done():
		return nil
	case <-server.Failed():
		return server.Failure()
	}
}

// The flags of etcd that have no effect here.
const (
	absentEtcdBools = `
		auto-tls discovery-insecure-skip-tls-verify discovery-insecure-transport enable-distributed-tracing enable-grpc-gateway
		enable-log-rotation enable-pprof force-new-cluster initial-election-tick-advance memory-mlock peer-auto-tls
		peer-client-cert-auth peer-skip-client-san-verification pre-vote socket-reuse-address socket-reuse-port strict-reconfig-check`

	absentEtcdFlags = `
		auth-token auth-token-ttl auto-compaction-mode auto-compaction-retention backend-batch-interval backend-batch-limit
		backend-bbolt-freelist-type bcrypt-cost bootstrap-defrag-threshold-megabytes cipher-suites client-cert-file client-crl-file
		client-key-file compact-hash-check-time compaction-batch-limit compaction-sleep-interval config-file corrupt-check-time cors
		discovery discovery-cacert discovery-cert discovery-dial-timeout discovery-endpoints discovery-fallback
		discovery-keepalive-time discovery-keepalive-timeout discovery-key discovery-password discovery-proxy
		discovery-request-timeout discovery-srv discovery-srv-name discovery-token discovery-user distributed-tracing-address
		distributed-tracing-instance-id distributed-tracing-sampling-rate distributed-tracing-service-name downgrade-check-time
		election-timeout feature-gates grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout heartbeat-interval
		host-whitelist initial-cluster-state initial-cluster-token listen-client-http-urls
		listen-metrics-urls log-format log-level log-outputs log-rotation-config-json logger max-concurrent-streams
		max-learners max-request-bytes max-snapshots max-txn-ops max-wals metrics peer-cert-allowed-cn peer-cert-allowed-hostname
		peer-cert-file peer-client-cert-file peer-client-key-file peer-crl-file peer-key-file peer-trusted-ca-file
		raft-read-timeout raft-write-timeout self-signed-cert-validity snapshot-catchup-entries snapshot-count tls-max-version
		tls-min-version v2-deprecation wal-dir warning-apply-duration warning-unary-request-duration watch-progress-notify-interval`
)
