package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// apiServerFlags are the flags of kube-apiserver.
type apiServerFlags struct {
	serverFlags
	flags        *pflag.FlagSet
	etcd         etcdFlags
	absent       absentFlags
	port         int
	certDir      string
	certificate  minikcm.ServingCertificate
	tokens       minikcm.ServiceAccountTokens
	privileged   bool
	featureGates []string
	runtime      []string
	emulated     []string
	// folderVersion is the version that the program's folder is for; "" if it is for none.
	folderVersion string
	// notices are about feature gates that are left out.
	notices   []string
	verbosity int
}

// newKubeAPIServer is the command of the program kube-apiserver in the folder of "minikcm
// envtest".
func newKubeAPIServer() *cobra.Command {
	flags := apiServerFlags{folderVersion: versionOfFolder(os.Args[0])}
	cmd := &cobra.Command{
		Use:   programAPIServer,
		Short: "minikcm's API server, with the flags of kube-apiserver",
		Long: `Run minikcm's API server on an etcd until SIGINT or SIGTERM, with the flags of
kube-apiserver. The other flags of kube-apiserver are accepted, and named on stderr.
As in envtest, nothing else runs: no controllers, no scheduler and no nodes.

The environment changes that:
  MINIKCM_CONTROLLERS  controllers to run, separated by commas, such as namespace,garbage-collector;
                       '*' is all that are on by default
  MINIKCM_NODES        number of simulated nodes; above 0, the scheduler runs, too
  MINIKCM_SEED         seed of names, UIDs and all other random choices
  MINIKCM_WRITES       file, or folder of files, that gets the record of all writes when the server
                       is stopped: "minikcm why KIND/NAME --run FILE" explains them`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setLogging(cmd.ErrOrStderr(), flags.verbosity); err != nil {
				return err
			}
			opts, err := flags.options()
			if err != nil {
				return err
			}
			if err := extrasFromEnv(&opts, os.LookupEnv); err != nil {
				return badInput{err}
			}
			taintNewNodes(&opts)
			writes, err := writesFile(os.LookupEnv, flags.port)
			if err != nil {
				return badInput{err}
			}
			opts.Notices = notices(cmd.ErrOrStderr())
			flags.absent.report(cmd.ErrOrStderr(), programAPIServer)
			for _, text := range append(flags.notices, opts.WithoutEffect()...) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", programAPIServer, text)
			}
			return serveAPI(cmd, opts, writes)
		},
	}
	cmd.SetFlagErrorFunc(badFlag)
	flags.register(cmd.Flags())
	cmd.Version = "Kubernetes v" + strings.TrimPrefix(cmp.Or(flags.folderVersion, apiserver.DefaultVersion), "v")
	cmd.SetVersionTemplate("{{.Version}}\n")
	return cmd
}

func (f *apiServerFlags) register(flags *pflag.FlagSet) {
	f.flags = flags
	f.serverFlags.register(flags, []string{apiserver.AuthorizeAlways})
	f.etcd.register(flags, "URLs of the etcd that stores the objects")
	flags.IntVar(&f.port, "secure-port", 6443, "port to serve HTTPS on")
	flags.StringVar(&f.certDir, "cert-dir", "", "directory with the serving certificate, in apiserver.crt and apiserver.key, unless --tls-cert-file names it. Without both, a new certificate is used")
	flags.StringVar(&f.certificate.CertFile, "tls-cert-file", "", "file with the serving certificate and its intermediate authorities, in PEM")
	flags.StringVar(&f.certificate.KeyFile, "tls-private-key-file", "", "file with the key of --tls-cert-file, in PEM")
	flags.StringVar(&f.tokens.SigningKeyFile, "service-account-signing-key-file", "", "file with the private key that signs the tokens of service accounts, in PEM")
	flags.StringArrayVar(&f.tokens.KeyFiles, "service-account-key-file", nil, "file with keys that verify the tokens of service accounts, in PEM: public or private keys, or certificates; can be repeated (default --service-account-signing-key-file)")
	flags.StringArrayVar(&f.tokens.Issuers, "service-account-issuer", nil, "issuer of the tokens of service accounts; can be repeated: the first issues new tokens, and all are accepted")
	flags.StringSliceVar(&f.tokens.Audiences, "api-audiences", nil, "audiences of the API server (default --service-account-issuer)")
	flags.BoolVar(&f.privileged, "allow-privileged", false, "accepted: privileged containers are always allowed")
	flags.StringSliceVar(&f.featureGates, "feature-gates", nil, "feature gates, name=true or name=false, also AllAlpha and AllBeta; those that have no effect are named on stderr")
	flags.StringSliceVar(&f.runtime, "runtime-config", nil, "API versions and resources to turn on or off, such as resource.k8s.io/v1beta1=true, batch/v1/cronjobs=false, api/beta=true or api/all=true")
	flags.StringSliceVar(&f.emulated, "emulated-version", nil, "minor release of Kubernetes whose API is served, such as 1.33 or kube=1.33 (default that of the folder, see \"minikcm envtest use\")")
	flags.IntVarP(&f.verbosity, "v", "v", 0, "verbosity of the log on stderr: 0 logs nothing, 1 and 2 log errors and events, 4 and higher are for debugging")
	f.absent.register(flags, absentAPIServerBools, absentAPIServerFlags)
}

// options returns the options that the flags describe.
func (f *apiServerFlags) options() (opts minikcm.Options, err error) {
	opts = minikcm.Options{
		API:         minikcm.APIOptions{Port: f.port, NoMetricsAPI: true},
		Logger:      klog.Background(),
		Security:    minikcm.SecurityOptions{ServiceAccountTokens: f.tokens},
		Controllers: minikcm.ControllerOptions{Selected: []string{"-*"}, NoScheduler: true},
		Nodes:       minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageNone},
	}
	if err := f.serverFlags.set(&opts); err != nil {
		return opts, err
	}
	if err := f.setServing(&opts); err != nil {
		return opts, badInput{err}
	}
	if opts.Sharing.Etcd, err = f.etcd.options(); err != nil {
		return opts, badInput{err}
	}
	if len(opts.Sharing.Etcd.Endpoints) == 0 {
		return opts, badInput{errors.New("--etcd-servers must be specified: the URL of an etcd, such as http://127.0.0.1:2379")}
	}
	if f.port < 1 || f.port > 65535 {
		return opts, badInput{fmt.Errorf("--secure-port %d must be between 1 and 65535", f.port)}
	}
	if opts.API.Certificate, err = f.servingCertificate(); err != nil {
		return opts, badInput{err}
	}
	if err := checkAuthorities("client-ca-file", opts.Security.Authentication.ClientCAFile); err != nil {
		return opts, badInput{err}
	}
	if err := checkAuthorities("requestheader-client-ca-file", opts.Security.Authentication.RequestHeader.ClientCAFile); err != nil {
		return opts, badInput{err}
	}
	if err := opts.Validate(); err != nil {
		return opts, badInput{err}
	}
	return opts, nil
}

// setServing sets the release, the feature gates and the API versions.
func (f *apiServerFlags) setServing(opts *minikcm.Options) error {
	set, err := featuregates.Parse(f.featureGates)
	if err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	opts.FeatureGates, opts.API.RuntimeConfig = set, f.runtime
	for _, item := range f.emulated {
		component, version, named := strings.Cut(item, "=")
		if !named {
			component, version = "kube", item
		}
		if component != "kube" {
			return fmt.Errorf("--emulated-version: component %q is not kube", component)
		}
		opts.API.Version = version
	}
	opts.API.Version = cmp.Or(opts.API.Version, f.folderVersion)
	release := releases.Newest
	if opts.API.Version != "" {
		if release, err = releases.Parse(opts.API.Version); err != nil {
			return fmt.Errorf("--emulated-version: %w", err)
		}
	}
	// A suite may be for another release: upstream's server ends with an error then.
	maps.DeleteFunc(set, func(name string, _ bool) bool {
		if _, ok := release.Gate(name); ok || !releases.HadGate(name) {
			return false
		}
		f.notices = append(f.notices, fmt.Sprintf("feature gate %s is not one of Kubernetes %s", name, release))
		return true
	})
	return opts.ValidateServing()
}

// checkAuthorities checks the file of a flag before etcd is asked for anything.
func checkAuthorities(flag, file string) error {
	if file == "" {
		return nil
	}
	if _, err := certutil.CertsFromFile(file); err != nil {
		return fmt.Errorf("--%s must be a file with certificates in PEM: %w", flag, err)
	}
	return nil
}

// servingCertificate returns the files that --tls-cert-file and --tls-private-key-file name,
// or those in --cert-dir, if they exist.
func (f *apiServerFlags) servingCertificate() (minikcm.ServingCertificate, error) {
	if f.certificate != (minikcm.ServingCertificate{}) || f.certDir == "" {
		return f.certificate, nil
	}
	found := minikcm.ServingCertificate{CertFile: filepath.Join(f.certDir, "apiserver.crt"), KeyFile: filepath.Join(f.certDir, "apiserver.key")}
	for _, file := range []string{found.CertFile, found.KeyFile} {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return minikcm.ServingCertificate{}, nil
		} else if err != nil {
			return found, fmt.Errorf("reading the serving certificate in --cert-dir: %w", err)
		}
	}
	return found, nil
}

// extrasFromEnv sets the parts that run besides the API server, from the environment.
func extrasFromEnv(opts *minikcm.Options, lookup func(string) (string, bool)) error {
	if text, ok := lookup("MINIKCM_CONTROLLERS"); ok && strings.TrimSpace(text) != "" {
		opts.Controllers.Selected = selection(text)
		if err := opts.Validate(); err != nil {
			return fmt.Errorf("MINIKCM_CONTROLLERS=%s: %w", text, err)
		}
	}
	if text, ok := lookup("MINIKCM_NODES"); ok && text != "" {
		nodes, err := strconv.Atoi(text)
		if err != nil || nodes < 0 || nodes > minikcm.MaxNodes {
			return fmt.Errorf("MINIKCM_NODES=%s must be a number between 0 and %d", text, minikcm.MaxNodes)
		}
		if nodes > 0 {
			opts.Nodes.Count, opts.Controllers.NoScheduler, opts.Nodes.Manage, opts.API.NoMetricsAPI = nodes, false, "", false
		}
	}
	if text, ok := lookup("MINIKCM_SEED"); ok && text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("MINIKCM_SEED=%s must be a number between 0 and 2^64-1", text)
		}
		opts.Seed = seed
	}
	return nil
}

// flagValues returns the values of a command's flags.
func flagValues(cmd *cobra.Command) map[string]string {
	values := map[string]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { values[f.Name] = f.Value.String() })
	return values
}

// taintNewNodes lets new Nodes have upstream's taint not-ready even if no controller runs that removes
// it, unless simulated nodes run, which pods could never be scheduled on then.
func taintNewNodes(opts *minikcm.Options) {
	const plugin = "TaintNodesByCondition"
	if opts.Nodes.Count <= 0 && !slices.Contains(opts.Security.DisableAdmissionPlugins, plugin) && !slices.Contains(opts.Security.EnableAdmissionPlugins, plugin) {
		opts.Security.EnableAdmissionPlugins = append(opts.Security.EnableAdmissionPlugins, plugin)
	}
}

// selection splits a list of controllers. The suffix -controller of a name may be omitted.
func selection(text string) []string {
	items := strings.Split(text, ",")
	for i, item := range items {
		item = strings.TrimSpace(item)
		if name := item + "-controller"; slices.Contains(controllers.Names(), strings.TrimPrefix(name, "-")) {
			item = name
		}
		items[i] = item
	}
	return items
}

// serveAPI serves until the command is interrupted or the cluster fails, and saves the record of
// writes to a file then, if there is one.
func serveAPI(cmd *cobra.Command, opts minikcm.Options, writes string) (err error) {
	opts.API.Flags = flagValues(cmd)
	cluster, err := minikcm.Start(cmd.Context(), opts)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d of %s is in use: choose another --secure-port, or stop the process that listens on it", opts.API.Port, opts.API.BindAddress)
	}
	if err != nil && cmd.Context().Err() != nil {
		return nil // it serves, and may be stopped, before Start returns
	}
	if err != nil {
		return startError(cmd.Context(), err)
	}
	recording := record(writes, cluster)
	defer func() { err = errors.Join(err, recording.save(), cluster.Close()) }()
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Serving https://%s (seed %d)\n", cluster.Address(), cluster.Seed()); err != nil {
		return err
	}
	select {
	case <-cmd.Context().Done():
		return nil
	case <-cluster.Done():
		return cluster.Err()
	}
}
