// Package services does the apiserver's own work for Services: it reserves their addresses and
// node ports as they are written (with package serviceip, IPAddress objects being the locks),
// repairs and reports what does not match, keeps the Service "kubernetes", its endpoints and
// the default ServiceCIDR, and resolves the Services of webhooks.
package services
