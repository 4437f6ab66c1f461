"""Lists pods with the client that was generated in the folder of the first argument."""

import sys

folder, host, token, authority = sys.argv[1:]
sys.path.insert(0, folder)

import swagger_client  # noqa: E402

configuration = swagger_client.Configuration()
configuration.host = host
configuration.ssl_ca_cert = authority
configuration.api_key = {"authorization": token}
configuration.api_key_prefix = {"authorization": "Bearer"}
api = swagger_client.CoreV1Api(swagger_client.ApiClient(configuration))
for pod in api.list_core_v1_namespaced_pod("default").items:
    print(pod.metadata.name, pod.spec.containers[0].image, pod.metadata.creation_timestamp.year)
