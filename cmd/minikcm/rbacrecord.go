package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/accessapi"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/leastprivilege"
)

const (
	// recordedTokenLifetime is the lifetime of the token of a recorded service account, on
	// the cluster's clock.
	recordedTokenLifetime = 365 * 24 * time.Hour
	// recordRequestTimeout bounds each request of the command itself to the cluster.
	recordRequestTimeout = 30 * time.Second
)

// rbacRecord holds the arguments and flags of "minikcm rbac record".
type rbacRecord struct {
	kubeconfig string
	account    string
	files      []string
	enforce    bool
	name       string
	exact      bool
	names      bool

	namespace, accountName string
}

func newRBACRecord() *cobra.Command {
	var r rbacRecord
	cmd := &cobra.Command{
		Use:   "record [flags] -- COMMAND [ARG...]",
		Short: "Run a client and print the roles that it needs",
		Long: `Run a command, such as an operator, with KUBECONFIG set to a user of the running cluster,
and print the smallest ClusterRole and Roles that cover what it asked for. Meanwhile the user
may do everything, unless --enforce is given. What every user may do is not printed. A watch
is printed with the list that clients fall back to.

With --serviceaccount the command acts as that service account. The comments at the end then
list what the roles of the account grant beyond what was asked for, and what they lack. With
--filename the roles in these manifests are compared, whether or not they are bound.

A resource that the command asks for in all namespaces, or in others than that of the service
account, is allowed in the ClusterRole. The standard output of the command is written to the
standard error. The exit code is that of the command.`,
		Example: `  minikcm rbac record -- go run ./cmd --leader-elect=false
  minikcm rbac record --serviceaccount shop-system/shop-controller -- bin/manager > role.yaml
  minikcm rbac record -f config/rbac -- timeout 30 bin/manager`,
		Args: someArgs("a command to run"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringVar(&r.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	flags.StringVar(&r.account, "serviceaccount", "", "service account that the command acts as, as NAMESPACE/NAME (default a new user without roles)")
	flags.StringSliceVarP(&r.files, "filename", "f", nil, "manifest or folder with the roles to compare with; may be given several times")
	flags.BoolVar(&r.enforce, "enforce", false, "allow only what the roles in the cluster allow")
	flags.StringVar(&r.name, "name", "", "name of the printed roles (default that of the service account or command)")
	flags.BoolVar(&r.exact, "exact", false, "print a Role for each namespace in which something was asked for")
	flags.BoolVar(&r.names, "resource-names", false, "restrict rules to the names of objects where each request had one")
	return cmd
}

// check completes the flags.
func (r *rbacRecord) check(command string) error {
	if r.name == "" {
		r.name = strings.TrimSuffix(filepath.Base(command), filepath.Ext(command))
	}
	if r.account == "" {
		return nil
	}
	namespace, name, ok := strings.Cut(r.account, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return badInput{fmt.Errorf("--serviceaccount=%s: must be NAMESPACE/NAME", r.account)}
	}
	r.namespace, r.accountName = namespace, name
	return nil
}

func (r *rbacRecord) run(cmd *cobra.Command, args []string) (err error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fmt.Errorf("cannot run the command %q: %w", args[0], err)
	}
	named := r.name != ""
	if err := r.check(args[0]); err != nil {
		return err
	}
	if !named && r.account != "" {
		r.name = r.accountName
	}
	// The recording outlives the signal that ends the command.
	ctx := context.WithoutCancel(cmd.Context())
	config, client, err := clusterOf(cmd.Context(), r.kubeconfig)
	if err != nil {
		return err
	}
	manifests, err := r.grantsInFiles(cmd)
	if err != nil {
		return err
	}
	user, kubeconfig, err := r.identity(cmd.Context(), config, client)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "minikcm-rbac-")
	if err != nil {
		return fmt.Errorf("creating a directory for the kubeconfig: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "kubeconfig")
	if err := writeNew(file, kubeconfig); err != nil {
		return err
	}
	session, err := accessapi.Start(ctx, client.Discovery().RESTClient(), user.Name, r.enforce)
	if err != nil {
		return err
	}
	defer session.Close()
	child := exec.Command(path, args[1:]...) // the user asked to run it
	child.Env = append(os.Environ(), "KUBECONFIG="+file)
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.ErrOrStderr(), cmd.ErrOrStderr()
	ended := runChild(child)
	return errors.Join(r.report(ctx, cmd, session, client, user, manifests), ended)
}

// report ends the recording and prints it.
func (r *rbacRecord) report(ctx context.Context, cmd *cobra.Command, session *accessapi.Session, client kubernetes.Interface, user *auth.User, manifests []leastprivilege.Grant) error {
	ctx, cancel := context.WithTimeout(ctx, recordRequestTimeout)
	defer cancel()
	record, err := session.Finish(ctx)
	if err != nil {
		return err
	}
	report := &accessReport{Record: record, options: leastprivilege.Options{Name: r.name, Home: r.namespace, Exact: r.exact, Names: r.names}}
	switch {
	case len(r.files) > 0:
		report.source, report.grants = "the manifests", manifests
	case r.account != "":
		report.source = "the roles of the service account"
		if report.grants, err = grantsOf(ctx, client, user); err != nil {
			return err
		}
	}
	return report.print(cmd.OutOrStdout())
}

// identity returns the user that the command acts as, and its kubeconfig.
func (r *rbacRecord) identity(ctx context.Context, config *rest.Config, client kubernetes.Interface) (*auth.User, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, recordRequestTimeout)
	defer cancel()
	if r.account == "" {
		add := &userAdd{name: "minikcm:recorded:" + r.name}
		certificate, key, err := add.certificate(ctx, client)
		if err != nil {
			return nil, nil, err
		}
		data, err := add.config(config, certificate, key)
		return &auth.User{Name: add.name}, data, err
	}
	token, err := client.CoreV1().ServiceAccounts(r.namespace).CreateToken(ctx, r.accountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(recordedTokenLifetime.Seconds()))},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("requesting a token of the service account %s: %w", r.account, err)
	}
	data, err := userKubeconfig(config, r.accountName, r.namespace, &clientcmdapi.AuthInfo{Token: token.Status.Token})
	return &auth.User{Name: auth.AccountName(r.namespace, r.accountName), Groups: []string{"system:serviceaccounts:" + r.namespace}}, data, err
}
