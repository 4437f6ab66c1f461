package runner

import (
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenPath is where a container has the token of its service account, relative to the root.
const tokenPath = "var/run/secrets/kubernetes.io/serviceaccount/token"

// writeKubeconfig writes a kubeconfig with the credentials of the container: the token of its
// service account, which is read again when it has been renewed, or none.
func writeKubeconfig(file string, config *rest.Config, namespace, root string) error {
	const name = "minikcm"
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile,
			InsecureSkipTLSVerify: config.Insecure, TLSServerName: config.ServerName,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {TokenFile: filepath.Join(root, filepath.FromSlash(tokenPath))}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: namespace}},
		CurrentContext: name,
	}, file)
}
