package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"

	"minikcm.dev/minikcm"
)

// userAdd holds the arguments and flags of "minikcm user add".
type userAdd struct {
	kubeconfig string
	name       string
	groups     []string
	output     string
	namespace  string
	timeout    time.Duration
}

func newUserAdd() *cobra.Command {
	var add userAdd
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Write a kubeconfig for a user",
		Long: `Write a kubeconfig with a client certificate for a user. The cluster issues the certificate:
the command creates a CertificateSigningRequest and approves it. A new user may do little; bind a
role to the name or to a group.`,
		Example: `  minikcm user add jane --group dev
  minikcm kubectl create rolebinding dev --clusterrole edit --group dev
  kubectl --kubeconfig jane.kubeconfig get pods`,
		Args: oneArg("the name of a user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if add.name = args[0]; add.name == "" {
				return badInput{errors.New("the name of the user is empty")}
			}
			if add.output == "" {
				add.output = add.name + ".kubeconfig"
			}
			return add.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&add.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	flags.StringSliceVar(&add.groups, "group", nil, "group of the user; may be given several times")
	flags.StringVarP(&add.output, "output", "o", "", "file to write, or - for the standard output (default NAME.kubeconfig)")
	flags.StringVar(&add.namespace, "namespace", "", "default namespace of the kubeconfig")
	flags.DurationVar(&add.timeout, "timeout", time.Minute, "how long to wait for the certificate")
	return cmd
}

func (a *userAdd) run(cmd *cobra.Command) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), a.timeout)
	defer cancel()
	if _, err := os.Lstat(a.output); a.output != "-" && !errors.Is(err, fs.ErrNotExist) {
		return badInput{fmt.Errorf("%s exists: choose another file with --output, or remove it", a.output)}
	}
	config, client, err := clusterOf(ctx, a.kubeconfig)
	if err != nil {
		return err
	}
	certificate, key, err := a.certificate(ctx, client)
	if err != nil {
		if ctx.Err() != nil && cmd.Context().Err() == nil {
			return fmt.Errorf("%w within %v: does the cluster run the certificatesigningrequest-signing-controller?", err, a.timeout)
		}
		return err
	}
	data, err := a.config(config, certificate, key)
	if err != nil {
		return err
	}
	if a.output == "-" {
		_, err := cmd.OutOrStdout().Write(data)
		return err
	}
	if err := writeNew(a.output, data); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "user/%s added\n%s\n", a.name, exportLine("KUBECONFIG", a.output))
	return err
}

// writeNew writes a file that only its owner may read and that must not exist.
func writeNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	_, writeErr := file.Write(data)
	if err := errors.Join(writeErr, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing the kubeconfig: %w", err), os.Remove(path))
	}
	return nil
}

// certificate lets the cluster issue a client certificate for a new key.
func (a *userAdd) certificate(ctx context.Context, client kubernetes.Interface) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the user's key: %w", err)
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, fmt.Errorf("encoding the user's key: %w", err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: a.name, Organization: a.groups}}, private)
	if err != nil {
		return nil, nil, fmt.Errorf("making the request for a certificate: %w", err)
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	created, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "user-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("asking the cluster for a certificate: %w", err)
	}
	created.Status.Conditions = append(created.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "UserAdded", Message: "minikcm user add " + a.name,
	})
	if _, err := requests.UpdateApproval(ctx, created.Name, created, metav1.UpdateOptions{}); err != nil {
		return nil, nil, fmt.Errorf("approving the certificate: %w", err)
	}
	if certificate, err = csr.WaitForCertificate(ctx, client, created.Name, created.UID); err != nil {
		return nil, nil, fmt.Errorf("waiting for the certificate: %w", err)
	}
	return certificate, key, nil
}

// config returns a kubeconfig for the cluster of config.
func (a *userAdd) config(config *rest.Config, certificate, key []byte) ([]byte, error) {
	return userKubeconfig(config, minikcm.ContextName+"-"+a.name, a.namespace, &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key})
}

// userKubeconfig returns a kubeconfig with a context for a user of the cluster of config.
func userKubeconfig(config *rest.Config, context, namespace string, user *clientcmdapi.AuthInfo) ([]byte, error) {
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("reading the cluster's certificate authority: %w", err)
	}
	made := clientcmdapi.NewConfig()
	made.Clusters[minikcm.ContextName] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, InsecureSkipTLSVerify: config.Insecure, TLSServerName: config.ServerName,
	}
	made.AuthInfos[context] = user
	made.Contexts[context] = &clientcmdapi.Context{Cluster: minikcm.ContextName, AuthInfo: context, Namespace: namespace}
	made.CurrentContext = context
	data, err := clientcmd.Write(*made)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return data, nil
}
