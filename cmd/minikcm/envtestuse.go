package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/releases"
)

// versionFile names the version of Kubernetes whose API the kube-apiserver in a folder serves.
const versionFile = ".minikcm-version"

// envtestFlags are the flags of setup-envtest.
type envtestFlags struct {
	binDir, os, arch, print string
	installedOnly, useEnv   bool
}

// printFormats are the values of --print.
var printFormats = []string{"overview", "path", "env"}

func (f *envtestFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.binDir, "bin-dir", "", "folder in which each version gets a folder, k8s/VERSION-OS-ARCH (default $HOME/.minikcm/envtest)")
	flags.StringVar(&f.os, "os", runtime.GOOS, "operating system of the programs: that of minikcm, or '*' in lists")
	flags.StringVar(&f.arch, "arch", runtime.GOARCH, "architecture of the programs: that of minikcm, or '*' in lists")
	flags.BoolVarP(&f.installedOnly, "installed-only", "i", os.Getenv("ENVTEST_INSTALLED_ONLY") != "", "only look at versions that have a folder already")
	flags.BoolVar(&f.useEnv, "use-env", os.Getenv("ENVTEST_USE_ENV") != "", "print the folder in KUBEBUILDER_ASSETS, if it is set and has the programs")
	flags.StringVarP(&f.print, "print", "p", "overview", "what to print: overview, path or env")
	var ignored struct {
		force, verify       bool
		index, server, logs string
	}
	// Nothing is downloaded.
	flags.BoolVar(&ignored.force, "force", false, "has no effect: nothing is downloaded")
	flags.BoolVar(&ignored.verify, "verify", true, "has no effect: nothing is downloaded")
	for _, name := range []string{"index", "remote-server", "remote-bucket"} {
		flags.StringVar(&ignored.server, name, "", "has no effect: nothing is downloaded")
	}
	flags.StringVarP(&ignored.logs, "v", "v", "", "has no effect: nothing is logged")
	for _, name := range []string{"force", "verify", "index", "remote-server", "remote-bucket", "v"} {
		flags.Lookup(name).Hidden = true
	}
}

// envtestAction implements one of setup-envtest's commands.
type envtestAction func(f *envtestFlags, out io.Writer, selector versionSelector) error

// newEnvtestCommands returns the commands of setup-envtest.
func newEnvtestCommands(flags *envtestFlags) []*cobra.Command {
	command := func(use, short string, do envtestAction) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeReleases,
			RunE: func(cmd *cobra.Command, args []string) error {
				selector, err := parseVersionSelector(strings.Join(args, ""))
				if err == nil {
					err = flags.check()
				}
				if err == nil {
					err = do(flags, cmd.OutOrStdout(), selector)
				}
				if err != nil {
					return badInput{err} // setup-envtest ends with 2
				}
				return nil
			},
		}
	}
	return []*cobra.Command{
		command("use [VERSION]", "Prepare a folder of a version of Kubernetes, and print it, as setup-envtest does", useEnvtest),
		command("list [VERSION]", "List the versions that have a folder, and those that can get one", listEnvtest),
		command("cleanup [VERSION]", "Remove the folders of versions", cleanEnvtest),
		command("sideload VERSION", "Refused: there is nothing to unpack", func(*envtestFlags, io.Writer, versionSelector) error {
			return errors.New("minikcm does not unpack programs: it serves the API of each version itself; minikcm envtest use VERSION prepares its folder")
		}),
		command("version", "Print minikcm's version", func(_ *envtestFlags, out io.Writer, _ versionSelector) error {
			_, err := fmt.Fprintf(out, "setup-envtest version: minikcm %s\n", minikcm.Version())
			return err
		}),
	}
}

func (f *envtestFlags) check() error {
	if !slices.Contains(printFormats, f.print) {
		return fmt.Errorf("invalid argument %q for \"-p, --print\" flag: unknown print format %q, use one of overview|path|env", f.print, f.print)
	}
	if f.os == "" || f.arch == "" {
		return errors.New("must specify non-empty OS and arch (did you specify bad --os or --arch values?)")
	}
	return nil
}

// store returns the folder of the versions' folders.
func (f *envtestFlags) store() (string, error) {
	if f.binDir != "" {
		return filepath.Join(f.binDir, "k8s"), nil
	}
	dir, err := defaultAssets()
	return filepath.Join(dir, "k8s"), err
}

// isOwn reports whether the flags select the platform of this program.
func (f *envtestFlags) isOwn() bool {
	return (f.os == runtime.GOOS || f.os == "*") && (f.arch == runtime.GOARCH || f.arch == "*")
}

// folderOf returns the name of a version's folder.
func folderOf(v patchVersion) string { return fmt.Sprintf("%s-%s-%s", v, runtime.GOOS, runtime.GOARCH) }

// installed returns the versions that have a folder that minikcm made, the newest first.
func installed(store string) ([]patchVersion, error) {
	entries, err := os.ReadDir(store)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing the versions in %s: %w", store, err)
	}
	var all []patchVersion
	for _, entry := range entries {
		name, own := strings.CutSuffix(entry.Name(), fmt.Sprintf("-%s-%s", runtime.GOOS, runtime.GOARCH))
		if v, ok := parsePatchVersion(name); own && ok && exists(filepath.Join(store, entry.Name(), versionFile)) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b patchVersion) int { return b.compare(a) })
	return all, nil
}

func useEnvtest(f *envtestFlags, out io.Writer, selector versionSelector) error {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); f.useEnv && hasPrograms(assets) {
		return f.show(out, assets, "*", "*/*")
	}
	store, err := f.store()
	if err != nil {
		return err
	}
	version, isThere, err := f.choose(store, selector)
	if err != nil {
		return err
	}
	dir := filepath.Join(store, folderOf(version))
	if !isThere {
		if err := prepareVersion(dir, version); err != nil {
			return err
		}
	}
	return f.show(out, dir, version.String(), runtime.GOOS+"/"+runtime.GOARCH)
}

// choose returns the version that a selector means: one that has a folder already, unless the newest is
// asked for, or the newest that minikcm can serve.
func (f *envtestFlags) choose(store string, selector versionSelector) (version patchVersion, isThere bool, err error) {
	if f.os == "*" || f.arch == "*" {
		return version, false, errors.New("you must have a concrete platform with this command -- you cannot use wildcard platforms with fetch or switch")
	}
	if !f.isOwn() {
		return version, false, fmt.Errorf("unable to find a version that was supported for platform %s/%s: the programs are this minikcm, which is for %s/%s", f.os, f.arch, runtime.GOOS, runtime.GOARCH)
	}
	there, err := installed(store)
	if err != nil {
		return version, false, err
	}
	if one, ok := selector.one(); ok {
		if slices.Contains(there, one) {
			return one, true, nil
		}
		if f.installedOnly {
			return one, false, fmt.Errorf("no such version (%s) exists on disk for this architecture (%s/%s) -- try running `list -i` to see what's on disk", one, f.os, f.arch)
		}
		_, err := releases.Parse(one.String())
		return one, false, err
	}
	onDisk := slices.IndexFunc(there, selector.matches)
	if onDisk >= 0 && (!selector.newest || f.installedOnly) {
		return there[onDisk], true, nil
	}
	if f.installedOnly || selector.installed {
		return version, false, fmt.Errorf("no applicable on-disk versions for %s/%s found, you'll have to download one, or run list -i to see what you do have", f.os, f.arch)
	}
	all := patchVersions()
	i := slices.IndexFunc(all, selector.matches)
	if i < 0 {
		return version, false, fmt.Errorf("unable to find a version that was supported for platform %s/%s: minikcm serves Kubernetes %s to %s", f.os, f.arch, releases.Oldest, releases.Newest)
	}
	if onDisk >= 0 && there[onDisk].compare(all[i]) > 0 {
		return there[onDisk], true, nil
	}
	return all[i], slices.Contains(there, all[i]), nil
}

// prepareVersion makes this executable the programs in a folder, with the API of a version.
func prepareVersion(dir string, version patchVersion) error {
	if _, err := prepareAssets(dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, versionFile), []byte(version.String()+"\n"), 0o644); err != nil {
		return fmt.Errorf("preparing the folder of version %s: %w", version, err)
	}
	return nil
}

// versionOfFolder returns the version that the folder of a program is for; "" if it is for none.
func versionOfFolder(program string) string {
	if !strings.ContainsRune(program, filepath.Separator) {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(program), versionFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func hasPrograms(dir string) bool {
	if dir == "" {
		return false
	}
	return !slices.ContainsFunc(programFiles(), func(name string) bool { return !exists(filepath.Join(dir, name)) })
}

// show prints a folder as --print asks.
func (f *envtestFlags) show(out io.Writer, dir, version, platform string) error {
	var err error
	switch f.print {
	case "path":
		_, err = fmt.Fprint(out, dir) // without a newline, as setup-envtest
	case "env":
		_, err = fmt.Fprintf(out, "export KUBEBUILDER_ASSETS='%s'\n", strings.ReplaceAll(dir, "'", `'"'"'`))
	default:
		_, err = fmt.Fprintf(out, "Version: %s\nOS/Arch: %s\nPath: %s\n", version, platform, dir)
	}
	return err
}

// installed returns the folder of the versions' folders, and the versions that have one.
func (f *envtestFlags) installed() (store string, there []patchVersion, err error) {
	if store, err = f.store(); err != nil {
		return "", nil, err
	}
	there, err = installed(store)
	return store, there, err
}

func listEnvtest(f *envtestFlags, out io.Writer, selector versionSelector) error {
	if !f.isOwn() {
		return nil
	}
	_, there, err := f.installed()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 4, 4, 2, ' ', 0)
	list := func(state string, versions []patchVersion) {
		for _, v := range versions {
			if selector.matches(v) {
				_, _ = fmt.Fprintf(w, "(%s)\tv%s\t%s/%s\n", state, v, runtime.GOOS, runtime.GOARCH)
			}
		}
	}
	list("installed", there)
	if !f.installedOnly && !selector.installed {
		list("available", patchVersions())
	}
	return w.Flush()
}

func cleanEnvtest(f *envtestFlags, out io.Writer, selector versionSelector) error {
	if !f.isOwn() {
		return nil
	}
	store, there, err := f.installed()
	if err != nil {
		return err
	}
	for _, v := range there {
		if !selector.matches(v) {
			continue
		}
		if err := removeVersion(filepath.Join(store, folderOf(v))); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "removed %s (%s/%s)\n", v, runtime.GOOS, runtime.GOARCH); err != nil {
			return err
		}
	}
	return nil
}

// removeVersion removes the files that prepareVersion has made, and the folder if nothing else is in it.
func removeVersion(dir string) error {
	for _, name := range append(programFiles(), copiesFile, versionFile) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a version: %w", err)
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) && len(entriesOf(dir)) == 0 {
		return fmt.Errorf("removing a version: %w", err)
	}
	return nil
}

func entriesOf(dir string) []os.DirEntry {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	return entries
}
