package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const period = 30 * 24 * time.Hour

var now = time.Date(2030, 6, 30, 12, 0, 0, 0, time.UTC)

func token(change func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "t", CreationTimestamp: metav1.NewTime(now.Add(-2 * period)), Labels: map[string]string{},
			Annotations: map[string]string{corev1.ServiceAccountUIDKey: "1"},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if change != nil {
		change(s)
	}
	return s
}

func label(key, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Labels[key] = value }
}

func TestTracked(t *testing.T) {
	for since, want := range map[string]bool{"2030-05-29": true, "2030-05-30": true, "2030-05-31": false, "2030-06-30": false} {
		if got, err := Tracked(since, period, now); err != nil || got != want {
			t.Errorf("since %s: %v, %v, want %v", since, got, err, want)
		}
	}
	if _, err := Tracked("", period, now); err == nil {
		t.Error("no day is no error")
	}
}

func TestUnused(t *testing.T) {
	for _, test := range []struct {
		name   string
		secret *corev1.Secret
		want   bool
		err    bool
	}{
		{"never used", token(nil), true, false},
		{"used long ago", token(label(LastUsedLabel, "2030-05-30")), true, false},
		{"used on the first day", token(label(LastUsedLabel, "2030-05-31")), false, false},
		{"used some day", token(label(LastUsedLabel, "yesterday")), false, true},
		{"another type", token(func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }), false, false},
		{"going", token(func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: now} }), false, false},
		{"young", token(func(s *corev1.Secret) { s.CreationTimestamp = metav1.NewTime(now.Add(-period)) }), false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := Unused(test.secret, period, now); got != test.want || (err != nil) != test.err {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "1"}, Secrets: []corev1.ObjectReference{{Name: "s"}, {Name: "t"}}}
	for _, test := range []struct {
		name    string
		secret  *corev1.Secret
		account *corev1.ServiceAccount
		mounted bool
		want    Verb
	}{
		{"not marked", token(nil), account, false, Mark},
		{"badly marked", token(label(InvalidSinceLabel, "always")), account, false, Mark},
		{"marked within the period", token(label(InvalidSinceLabel, "2030-05-31")), account, false, Keep},
		{"marked before", token(label(InvalidSinceLabel, "2030-05-30")), account, false, Delete},
		{"mounted", token(label(InvalidSinceLabel, "2030-05-30")), account, true, Keep},
		{"no account", token(nil), nil, false, Keep},
		{"not listed", token(nil), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "1"}}, false, Keep},
		{"of an earlier account", token(nil), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "2"}, Secrets: account.Secrets}, false, Keep},
		{"of no certain account", token(func(s *corev1.Secret) { s.Annotations = nil }), account, false, Mark},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Secret(test.secret, test.account, test.mounted, period, now); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
