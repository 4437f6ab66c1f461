package minikcm

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const ours = `{apiVersion: v1, kind: Config, contexts: [{name: minikcm, context: {cluster: minikcm, user: minikcm}}]}`

// A kubeconfig is written over one of minikcm's only.
func TestWriteKubeconfig(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old     string
		refused string
	}{
		"empty":          {"", ""},
		"ours":           {ours, ""},
		"foreign":        {strings.ReplaceAll(ours, "minikcm", "production"), "contexts that are not minikcm's"},
		"ours and other": {`{apiVersion: v1, kind: Config, contexts: [{name: minikcm}, {name: production}]}`, "contexts that are not minikcm's"},
		"no kubeconfig":  {"garbage", "is not a kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(path, []byte(test.old), 0o644); err != nil { // others may read it, before
				t.Fatal(err)
			}
			err := writeKubeconfig(path, []byte("new"))
			data, readErr := os.ReadFile(path)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) || !strings.Contains(err.Error(), path) || string(data) != test.old {
					t.Errorf("got %v, and the file is %q", err, data)
				}
				return
			}
			info, statErr := os.Stat(path)
			if err != nil || statErr != nil || string(data) != "new" || info.Mode().Perm() != 0o600 {
				t.Errorf("got %v, and the file is %q, %v, %v", err, data, info, statErr)
			}
		})
	}
}

// Only a file is replaced: a device, a socket, a directory stays what it is.
func TestWriteKubeconfigOverOtherThings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, path := range []string{dir, socket} {
		if err := writeKubeconfig(path, []byte("new")); err == nil || !strings.Contains(err.Error(), path+" is not a regular file") {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().IsRegular() {
		t.Errorf("the socket is %v, %v", info, err)
	}
}

// RemoveKubeconfig keeps what another program has written meanwhile.
func TestRemoveKubeconfig(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "config")
	if err := writeKubeconfig(path, []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if err := removeKubeconfig(path, []byte("another")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("another one has been removed: %v", err)
	}
	for range 2 { // the second time, there is none
		if err := removeKubeconfig(path, []byte("ours")); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The kubeconfig of a user authenticates the user, who may do what roles allow.
func TestUserKubeconfig(t *testing.T) {
	t.Parallel()
	cluster, err := Start(t.Context(), Options{Nodes: NodeOptions{Count: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	data, err := cluster.UserKubeconfig("jane", "dev")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	jane, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := jane.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || self.Status.UserInfo.Username != "jane" || !slices.Contains(self.Status.UserInfo.Groups, "dev") {
		t.Errorf("%v, %v", self, err)
	}
	if _, err := jane.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v", err)
	}
}
