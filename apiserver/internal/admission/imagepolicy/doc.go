// Package imagepolicy is the admission plugin ImagePolicyWebhook: it sends the images of a
// pod to a webhook, as an ImageReview of imagepolicy.k8s.io/v1alpha1, and rejects the pod
// unless the webhook allows them (Kubernetes documentation, "Admission Control: ImagePolicyWebhook").
package imagepolicy
