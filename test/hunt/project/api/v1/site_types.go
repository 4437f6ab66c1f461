package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SiteSpec describes the site that a user wants.
type SiteSpec struct {
	// Image is the image of the web server.
	Image string `json:"image"`
	// Replicas is the number of web servers.
	Replicas int32 `json:"replicas,omitempty"`
}

// SiteStatus describes the site that exists.
type SiteStatus struct {
	// Credentials is the name of the Secret with the password of the site's administrator.
	Credentials string `json:"credentials,omitempty"`
	// ReadyReplicas is the number of web servers that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
}

// Site is a web site.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec,omitempty"`
	Status SiteStatus `json:"status,omitempty"`
}

// SiteList is a list of sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}
