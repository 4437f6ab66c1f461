package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/store"
)

func newEtcdSnapshot() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "etcd-snapshot",
		Short: "Save, check, repair and restore a cluster's state",
		Long: `Save and restore the state of a cluster, in the format of "etcdctl snapshot save" and
"etcdutl snapshot restore": minikcm reads their files, and they read minikcm's. A new
cluster starts from a snapshot with "minikcm up --from-snapshot". A snapshot contains
all objects, including Secrets. The keys that sign certificates and tokens are not in it,
unless the cluster uses --etcd-servers: there they are in etcd, and in every snapshot of
it.`,
		Args: aCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSnapshotSave(), newSnapshotRestore(), newSnapshotStatus(), newSnapshotCheck(), newSnapshotRepair())
	return cmd
}

// snapshotSource selects the cluster whose state is saved.
type snapshotSource struct {
	dataDir    string
	kubeconfig string
	etcd       etcdFlags
}

func newSnapshotSave() *cobra.Command {
	var from snapshotSource
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Save a snapshot to a new file",
		Long: `Write the state of a cluster at one revision to a new file. By default it is the running
cluster, which is found as by kubectl. With --data-dir it is the cluster of that
directory, running or not; with --etcd-servers it is the content of any etcd. The
cluster is not paused.`,
		Example: `  minikcm etcd-snapshot save before.db
  minikcm etcd-snapshot save before.db --data-dir ./cluster`,
		Args: someArgs("the name of a new file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return badInput{fmt.Errorf("%q takes one file, but got %q", cmd.CommandPath(), args)}
			}
			return from.save(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&from.dataDir, "data-dir", "", "save the content of this data directory of \"minikcm up\"")
	cmd.Flags().StringVar(&from.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	from.etcd.register(cmd.Flags(), "save the content of the etcd cluster at this URL")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "kubeconfig", "etcd-servers")
	return cmd
}

func (s *snapshotSource) save(cmd *cobra.Command, file string) error {
	fill, err := s.filler(cmd.Context())
	if err != nil {
		return err
	}
	status, err := store.SaveSnapshot(file, fill)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Saved %s: %s at revision %d (%s).\n", file, count(status.TotalKeys, "key"), status.Revision, size(status.TotalSize))
	return err
}

// filler returns the function that writes a snapshot of the selected source.
func (s *snapshotSource) filler(ctx context.Context) (func(io.Writer) error, error) {
	etcd, err := s.etcd.options()
	if err != nil {
		return nil, err
	}
	switch {
	case len(etcd.Endpoints) > 0:
		etcd.Logger = klog.Background()
		return func(w io.Writer) error { return snapshotEtcd(ctx, etcd, w) }, nil
	case s.dataDir != "":
		return func(w io.Writer) error {
			err := snapshotDataDir(ctx, s.dataDir, w)
			if err != nil && checkFile(filepath.Join(s.dataDir, "etcd", "member")) != nil {
				return badInput{err} // it is no data directory
			}
			return err
		}, nil
	}
	return func(w io.Writer) error { return snapshotRunning(ctx, s.kubeconfig, w) }, nil
}

func snapshotEtcd(ctx context.Context, opts store.EtcdOptions, w io.Writer) (err error) {
	s, err := store.DialEtcd(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Snapshot(ctx, w)
}

// snapshotDataDir reads the directory itself or, if a running cluster has it open, gets the
// snapshot from that cluster.
func snapshotDataDir(ctx context.Context, dir string, w io.Writer) error {
	err := minikcm.SnapshotDataDir(ctx, dir, w)
	if inUse := (*store.InUseError)(nil); !errors.As(err, &inUse) {
		return err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if _, statErr := os.Stat(kubeconfig); statErr != nil {
		return fmt.Errorf("%w, and its kubeconfig %s does not exist: give --kubeconfig instead of --data-dir", err, kubeconfig)
	}
	return snapshotRunning(ctx, kubeconfig, w)
}

// snapshotRunning gets a snapshot from a kubeconfig's cluster.
func snapshotRunning(ctx context.Context, kubeconfig string, w io.Writer) (err error) {
	config, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return err
	}
	body, err := client.Discovery().RESTClient().Get().AbsPath("/minikcm/v1/snapshot").Stream(ctx)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the cluster at %s is not a minikcm cluster: save a snapshot of its etcd with --etcd-servers", config.Host)
	}
	if err != nil {
		return fmt.Errorf("asking the cluster at %s for a snapshot: %w", config.Host, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("reading the snapshot from %s: %w", config.Host, err)
	}
	return nil
}

func newSnapshotRestore() *cobra.Command {
	var dir string
	var bump uint64
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a snapshot to a data directory",
		Long: `Restore a snapshot to a data directory for "minikcm up --data-dir". The directory must
not contain a cluster yet; certificates in it are kept. The snapshot's hash is verified
first. With --bump-revision, clients that hold resource versions from after the snapshot
get "too old resource version" errors and list again.`,
		Example: `  minikcm etcd-snapshot restore before.db --data-dir ./restored
  minikcm up --data-dir ./restored`,
		Args: someArgs("the file of a snapshot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return badInput{fmt.Errorf("%q takes one file, but got %q", cmd.CommandPath(), args)}
			}
			if dir == "" {
				return badInput{errors.New("--data-dir is missing: give the directory to restore to")}
			}
			if err := checkFile(args[0]); err != nil {
				return err
			}
			if err := minikcm.RestoreSnapshot(cmd.Context(), args[0], dir, bump); err != nil {
				return asBadSnapshot(args[0], err)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "Restored %s to %s. Start the cluster with: minikcm up --data-dir %s\n", args[0], dir, shellQuote(dir))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "the data directory to create")
	cmd.Flags().Uint64Var(&bump, "bump-revision", 0, "raise the revision by this number, and mark older revisions as compacted")
	return cmd
}

func size(bytes int64) string { return humanize.Bytes(uint64(max(bytes, 0))) }
