package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// The programs that controller-runtime's envtest starts.
const (
	programAPIServer = "kube-apiserver"
	programEtcd      = "etcd"
	programKubectl   = "kubectl"
)

// programFiles returns the names of the programs' files.
func programFiles() []string {
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	return []string{programAPIServer + suffix, programEtcd + suffix, programKubectl + suffix}
}

func newEnvtest() *cobra.Command {
	var dir string
	var flags envtestFlags
	cmd := &cobra.Command{
		Use:   "envtest",
		Short: "Make test suites of operators use minikcm instead of envtest's binaries",
		Long: `Prepare a folder for KUBEBUILDER_ASSETS, in which kube-apiserver, etcd and kubectl are
minikcm, and print the shell command that sets the variable. Test suites that start
controller-runtime's envtest.Environment then run on minikcm, unchanged.

The commands use, list and cleanup have the flags and the output of setup-envtest, so that
"make test ENVTEST='minikcm envtest'" works with a Makefile of kubebuilder: "use 1.33"
prepares a folder whose API server serves what Kubernetes 1.33 served.

As with envtest's own binaries, only the API server and etcd run. MINIKCM_CONTROLLERS and
MINIKCM_NODES add controllers and nodes, MINIKCM_SEED sets the seed, and MINIKCM_WRITES
saves a record of all writes for "minikcm why --run FILE", see docs/envtest.md.`,
		Example: `  eval "$(minikcm envtest)" && go test ./...
  minikcm envtest --dir ./bin/k8s
  minikcm envtest use 1.33 --bin-dir ./bin -p path
  make test ENVTEST="minikcm envtest"
  MINIKCM_CONTROLLERS=namespace,garbage-collector go test ./...`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				var err error
				if dir, err = defaultAssets(); err != nil {
					return err
				}
			}
			path, err := prepareAssets(dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), exportLine("KUBEBUILDER_ASSETS", path))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the folder to prepare (default $HOME/.minikcm/envtest)")
	flags.register(cmd.PersistentFlags())
	cmd.AddCommand(newEnvtestCommands(&flags)...)
	return cmd
}

// defaultAssets returns the folder that is prepared if none is given.
func defaultAssets() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home directory (give a folder with --dir or --bin-dir instead): %w", err)
	}
	return filepath.Join(home, ".minikcm", "envtest"), nil
}

// copiesFile marks a folder in which the programs are copies, which may be replaced.
const copiesFile = ".minikcm-copies"

// prepareAssets makes this executable the programs in a folder, and returns the absolute path
// of the folder. Programs that are not minikcm are not replaced.
func prepareAssets(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	executable, err := executable()
	if err != nil {
		return "", fmt.Errorf("finding this executable: %w", err)
	}
	if executable, err = filepath.EvalSymlinks(executable); err != nil {
		return "", fmt.Errorf("finding this executable: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the folder for KUBEBUILDER_ASSETS: %w", err)
	}
	for _, program := range programFiles() {
		if err := provide(executable, filepath.Join(dir, program)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// provide makes path a link to the executable, or a copy of it where links cannot be made.
// It replaces the path in one step: a suite may start the program at any time.
func provide(executable, path string) error {
	marker := filepath.Join(filepath.Dir(path), copiesFile)
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink == 0 && !exists(marker):
		return fmt.Errorf("%s is there already, and is not a link that minikcm made: choose another folder with --dir, or remove it", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("looking for %s: %w", path, err)
	}
	temporary := fmt.Sprintf("%s.new-%d", path, os.Getpid())
	// Some systems make no link, and report no error.
	if os.Symlink(executable, temporary) != nil || !exists(temporary) {
		if err := os.WriteFile(marker, nil, 0o644); err != nil {
			return fmt.Errorf("preparing %s: %w", filepath.Dir(path), err)
		}
		if err := copyExecutable(executable, temporary); err != nil {
			return errors.Join(fmt.Errorf("copying minikcm to %s: %w", path, err), os.Remove(temporary))
		}
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(fmt.Errorf("making %s: %w", path, err), os.Remove(temporary))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func copyExecutable(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// newPlainKubectl is the command of the program kubectl in the folder of "minikcm envtest". It
// finds its cluster as kubectl does.
func newPlainKubectl() *cobra.Command {
	return &cobra.Command{
		Use:                programKubectl,
		DisableFlagParsing: true,
		SilenceUsage:       true,
		SilenceErrors:      true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return kubectlMain(genericiooptions.IOStreams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), ErrOut: cmd.ErrOrStderr()}, args, "")
		},
	}
}
