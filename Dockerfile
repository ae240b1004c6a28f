# SPDX-License-Identifier: Apache-2.0
# CPU image with the command line tool and the Python package; runs as an ordinary user.
#   docker build -t millstream .
#   docker run --rm millstream train --ps 1 --workers 2
FROM debian:12-slim AS build
WORKDIR /src
COPY . .
RUN tools/setup.sh build && tools/setup.sh python && tools/setup.sh deb && make deb wheel

FROM debian:12-slim
COPY --from=build /src/dist /tmp/dist
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /tmp/dist/*.deb python3 python3-venv \
    && python3 -m venv /opt/millstream \
    && /opt/millstream/bin/pip install --no-cache-dir /tmp/dist/*.whl \
    && rm -rf /var/lib/apt/lists/* /tmp/dist \
    && useradd --create-home --uid 1000 millstream
ENV PATH=/opt/millstream/bin:$PATH
USER 1000
WORKDIR /home/millstream
ENTRYPOINT ["millstream"]
CMD ["--help"]
