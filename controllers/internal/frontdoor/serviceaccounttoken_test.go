package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestTokenSecretLives fills a secret, uses its token over HTTPS, and deletes the account.
func TestTokenSecretLives(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithHTTPS())
	core := c.Client().CoreV1()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}, Secrets: []corev1.ObjectReference{{Name: "first"}, {Name: "second"}}}
	if _, err := core.ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
			Type:       corev1.SecretTypeServiceAccountToken,
		}
		if _, err := core.Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var filled *corev1.Secret
	c.Eventually("the secret to be filled", func(ctx context.Context, client kubernetes.Interface) error {
		var err error
		filled, err = client.CoreV1().Secrets("default").Get(ctx, "first", metav1.GetOptions{})
		if err == nil && len(filled.Data["token"]) == 0 {
			return errors.New("it is empty")
		}
		return err
	})
	if string(filled.Data["namespace"]) != "default" || len(filled.Data["ca.crt"]) == 0 {
		t.Errorf("it holds %v", filled.Data)
	}
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	bearer, err := kubernetes.NewForConfig(&rest.Config{
		Host: config.Host, BearerToken: string(filled.Data["token"]), TLSClientConfig: rest.TLSClientConfig{CAData: filled.Data["ca.crt"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	self, err := bearer.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || self.Status.UserInfo.Username != "system:serviceaccount:default:robot" {
		t.Errorf("its token is of %v, %v", self, err)
	}
	if err := core.Secrets("default").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the account to forget it", func(ctx context.Context, client kubernetes.Interface) error {
		got, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "robot", metav1.GetOptions{})
		if err == nil && (len(got.Secrets) != 1 || got.Secrets[0].Name != "second") {
			return fmt.Errorf("it lists %v", got.Secrets)
		}
		return err
	})
	if _, err := bearer.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("its token then: %v", err)
	}
	if err := core.ServiceAccounts("default").Delete(t.Context(), "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the other secret to go", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Secrets("default").Get(ctx, "second", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

// TestTokenSecretWithoutAccount deletes a secret whose account does not exist.
func TestTokenSecretWithoutAccount(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{corev1.ServiceAccountNameKey: "missing"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	if _, err := c.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the secret to go", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Secrets("default").Get(ctx, "s", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}
