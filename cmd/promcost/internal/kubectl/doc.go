// Package kubectl asks a promcost that runs in a cluster by way of the user's kubectl, which has the credentials: by the API's
// proxy to Services.
package kubectl
