package decide

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The labels of KEP-2799: the days on which a token was last used, and since which it is not
// accepted.
const (
	LastUsedLabel     = "kubernetes.io/legacy-token-last-used"
	InvalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"
)

// Verb is the action to take on a secret.
type Verb int

// The verbs. Mark sets InvalidSinceLabel to the present day.
const (
	Keep Verb = iota
	Mark
	Delete
)

// Tracked reports whether the use of tokens has been recorded for the period, if it began on
// the given day. The day itself does not count, because the time of day is unknown.
func Tracked(since string, period time.Duration, now time.Time) (bool, error) {
	day, err := time.Parse(time.DateOnly, since)
	if err != nil {
		return false, fmt.Errorf("parsing the day since which the use of tokens is recorded: %w", err)
	}
	return !now.Before(day.AddDate(0, 0, 1).Add(period)), nil
}

// Unused reports whether the secret has a token that is older than the period and has not
// been used within it. It returns an error if the label does not say when.
func Unused(secret *corev1.Secret, period time.Duration, now time.Time) (bool, error) {
	if secret.Type != corev1.SecretTypeServiceAccountToken || secret.DeletionTimestamp != nil || !secret.CreationTimestamp.Time.Before(now.Add(-period)) {
		return false, nil
	}
	used, ok := secret.Labels[LastUsedLabel]
	if !ok {
		return true, nil
	}
	if _, err := time.Parse(time.DateOnly, used); err != nil {
		return false, fmt.Errorf("parsing the last use of the token in secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return used < cutoff(period, now), nil
}

// Secret decides about a secret that is Unused. account is the service account that its
// annotation names, or nil; mounted reports that a pod refers to the secret.
func Secret(secret *corev1.Secret, account *corev1.ServiceAccount, mounted bool, period time.Duration, now time.Time) Verb {
	if !generatedFor(secret, account) || mounted {
		return Keep
	}
	since := secret.Labels[InvalidSinceLabel]
	if _, err := time.Parse(time.DateOnly, since); err != nil {
		return Mark
	}
	if since >= cutoff(period, now) {
		return Keep
	}
	return Delete
}

// generatedFor reports whether the secret was generated for the account: the account lists
// it, and is the one that the secret was made for.
func generatedFor(secret *corev1.Secret, account *corev1.ServiceAccount) bool {
	if account == nil {
		return false
	}
	if uid := secret.Annotations[corev1.ServiceAccountUIDKey]; uid != "" && uid != string(account.UID) {
		return false
	}
	return slices.ContainsFunc(account.Secrets, func(r corev1.ObjectReference) bool { return r.Name == secret.Name })
}

// Today returns the day as labels have it.
func Today(now time.Time) string { return now.UTC().Format(time.DateOnly) }

// cutoff returns the day before which a period that ends now began.
func cutoff(period time.Duration, now time.Time) string { return Today(now.Add(-period)) }
